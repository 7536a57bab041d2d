// SPDX-License-Identifier: MIT
#include "backends/redis/packet.hpp"

#include <openssl/evp.h>

#include <array>
#include <charconv>

namespace interlock::inline v1::redis_store {
namespace {

constexpr std::size_t sha_length = 40;
constexpr std::string_view evalsha_begin = "$7\r\nEVALSHA\r\n$40\r\n";
constexpr std::size_t kept_most = 64 * 1024;

/// A text that a thread puts its commands together in, one after the other.
struct kept_text {
  command_text text;
  bool taken = false;
  ~kept_text();
};
thread_local kept_text* kept = nullptr;  // beside the object itself, which asks at each use whether it exists
kept_text::~kept_text() { kept = nullptr; }

kept_text& kept_here() {
  if (kept != nullptr) return *kept;
  thread_local kept_text one;
  kept = &one;
  return one;
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

void begin_call(command_text& to, const script& what, std::size_t keys, std::size_t arguments) {
  to.header(3 + keys + arguments);
  to.append(what.call);
  to.argument(static_cast<std::int64_t>(keys));
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
  command_text both;
  both.argument("EVALSHA");
  both.argument(sha);
  call = both.view();
  command_text head;
  begin_call(head, *this, 1, 1);
  usual_head = head.view();
}

std::uint16_t slot_of(std::string_view key) noexcept {
  if (const auto open = key.find('{'); open != key.npos)
    if (const auto shut = key.find('}', open + 1); shut != key.npos && shut > open + 1)
      key = key.substr(open + 1, shut - open - 1);
  unsigned crc = 0;
  for (const char c : key) crc = ((crc << 8) ^ crc_table[((crc >> 8) ^ static_cast<unsigned char>(c)) & 255]) & 0xffff;
  return static_cast<std::uint16_t>(crc & 0x3fff);
}

packet::packet() {
  auto& here = kept_here();
  if (!here.taken) {
    here.taken = true;
    text_ = &here.text;
  } else {
    own_ = std::make_unique<command_text>();
    text_ = own_.get();
  }
  text_->clear();
}

packet::packet(const script& what, std::initializer_list<std::string_view> keys, std::size_t arguments)
    : packet(what, keys.size() == 0 ? std::string_view{} : *keys.begin(), keys.size(), arguments) {
  for (const auto key : keys) text_->argument(key);
}

packet::packet(const script& what, std::string_view route, std::size_t keys, std::size_t arguments) : packet() {
  script_ = &what;
  keys_ = keys;
  if (arguments == 1 && keys == 1)
    text_->append(what.usual_head);
  else
    begin_call(*text_, what, keys, arguments);
  if (keys > 0)
    first_key_ = text_->size();
  else
    slot_ = slot_of(route);
}

packet::packet(const short_call& what) : packet(*what.called, {}, 1, 1) {
  text_->argument(what.key);
  if (what.all != nullptr) joins(*what.all);
  text_->argument(what.argument);
}

std::uint16_t packet::slot() const noexcept {
  return first_key_ == 0 ? slot_ : slot_of(argument_at(bytes(), first_key_));
}

packet::packet(beginning with) : packet() {
  text_->append(with.as_sent);
  first_key_ = text_->size();
}

packet::packet(std::initializer_list<std::string_view> words, std::string_view route) : packet() {
  text_->header(words.size());
  for (const auto word : words) {
    if (word.data() == route.data() && !route.empty()) first_key_ = text_->size();
    text_->argument(word);
  }
  if (first_key_ == 0) slot_ = slot_of(route);
}

packet::~packet() {
  if (own_) return;
  kept->taken = false;
  if (text_->capacity() > kept_most) *text_ = {};
}

bool calls_by_name(std::string_view command) noexcept {
  const auto header = command.find("\r\n");
  return header != command.npos && command.substr(header + 2).starts_with(evalsha_begin);
}

std::string with_text(std::string_view evalsha, const script& called) {
  const auto header = evalsha.find("\r\n") + 2;
  command_text out;
  out.append(evalsha.substr(0, header));
  out.argument("EVAL");
  out.argument(called.text);
  out.append(evalsha.substr(header + evalsha_begin.size() + sha_length + 2));
  return std::string(out.view());
}

}  // namespace interlock::inline v1::redis_store
