// SPDX-License-Identifier: MIT
#include "backends/redis/packet.hpp"

#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <vector>

namespace interlock::inline v1::redis_store {
namespace {

constexpr std::size_t sha_length = 40;
constexpr std::string_view evalsha_begin = "$7\r\nEVALSHA\r\n$40\r\n";
constexpr std::size_t spare_most = 4;
constexpr std::size_t spare_bytes = 64 * 1024;

// Buffers of packets that were sent, for the next ones.
std::vector<std::string>& spare() {
  thread_local std::vector<std::string> kept;
  return kept;
}

std::string fresh() {
  auto& kept = spare();
  if (kept.empty()) return {};
  std::string out = std::move(kept.back());
  kept.pop_back();
  out.clear();
  return out;
}

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (unsigned i = 0; i < length; ++i) {
    out += digits[digest[i] >> 4];
    out += digits[digest[i] & 15];
  }
  return out;
}

// The bytes of the argument that begins at `at`.
std::string_view argument_at(std::string_view text, std::size_t at) noexcept {
  std::size_t length = 0;
  const auto* const end = std::from_chars(text.data() + at + 1, text.data() + text.size(), length).ptr;
  return {end + 2, length};
}
std::size_t end_of_argument(std::string_view text, std::size_t at) noexcept {
  const auto bytes = argument_at(text, at);
  return static_cast<std::size_t>(bytes.data() - text.data()) + bytes.size() + 2;
}

constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> out{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    out[i] = static_cast<std::uint16_t>(crc);
  }
  return out;
}();

}  // namespace

script::script(std::string_view source) : text(source), sha(sha1_hex(source)) {
  append_argument(call, "EVALSHA");
  append_argument(call, sha);
}

std::uint16_t slot_of(std::string_view key) noexcept {
  if (const auto open = key.find('{'); open != key.npos)
    if (const auto shut = key.find('}', open + 1); shut != key.npos && shut > open + 1)
      key = key.substr(open + 1, shut - open - 1);
  unsigned crc = 0;
  for (const char c : key) crc = ((crc << 8) ^ crc_table[((crc >> 8) ^ static_cast<unsigned char>(c)) & 255]) & 0xffff;
  return static_cast<std::uint16_t>(crc & 0x3fff);
}

packet::packet(const script& what, std::initializer_list<std::string_view> keys, std::size_t arguments)
    : packet(what, keys.size() == 0 ? std::string_view{} : *keys.begin(), keys.size(), arguments) {
  for (const auto key : keys) append_argument(text_, key);
}

packet::packet(const script& what, std::string_view route, std::size_t keys, std::size_t arguments)
    : text_(fresh()), script_(&what) {
  append_header(text_, 3 + keys + arguments);
  text_ += what.call;
  append_argument(text_, static_cast<std::int64_t>(keys));
  if (keys > 0)
    first_key_ = text_.size();
  else
    slot_ = slot_of(route);
}

std::uint16_t packet::slot() const noexcept {
  return first_key_ == 0 ? slot_ : slot_of(argument_at(text_, first_key_));
}

packet::packet(std::initializer_list<std::string_view> words, std::string_view route) : text_(fresh()) {
  append_header(text_, words.size());
  for (const auto word : words) {
    if (word.data() == route.data() && !route.empty()) first_key_ = text_.size();
    append_argument(text_, word);
  }
  if (first_key_ == 0) slot_ = slot_of(route);
}

packet& packet::joins(const script& all, std::size_t keys, std::size_t others) {
  const auto behind = [&](std::size_t argument, std::size_t count) {
    for (; count > 0; --count) argument = end_of_argument(text_, argument);
    return argument;
  };
  const auto keys_end = behind(first_key_, keys);
  const std::string_view text(text_);
  part_ = {&all, keys, text.substr(first_key_, keys_end - first_key_), text.substr(behind(keys_end, others))};
  return *this;
}

packet::~packet() {
  if (spare().size() < spare_most && text_.capacity() <= spare_bytes) spare().push_back(std::move(text_));
}

bool calls_by_name(std::string_view command) noexcept {
  const auto header = command.find("\r\n");
  return header != command.npos && command.substr(header + 2).starts_with(evalsha_begin);
}

std::string with_text(std::string_view evalsha, const script& called) {
  const auto header = evalsha.find("\r\n") + 2;
  std::string out(evalsha.substr(0, header));
  append_argument(out, "EVAL");
  append_argument(out, called.text);
  out.append(evalsha.substr(header + evalsha_begin.size() + sha_length + 2));
  return out;
}

}  // namespace interlock::inline v1::redis_store
