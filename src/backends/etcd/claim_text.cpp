// SPDX-License-Identifier: MIT
#include "backends/etcd/claim_text.hpp"

#include <array>
#include <charconv>

namespace interlock::inline v1::etcd_store {
namespace {

constexpr std::string_view version = "interlock1";
constexpr std::string_view digits = "0123456789abcdef";

// No word is empty and none has a blank in it.
void add_word(std::string& out, std::string_view word) {
  out += ' ';
  if (word.empty()) out += '-';
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '%' || word == "-")
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    else
      out += c;
  }
}

std::string read_word(std::string_view word) {
  if (word == "-") return {};
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%' || i + 2 >= word.size()) {
      out += word[i];
      continue;
    }
    const auto high = digits.find(word[i + 1]), low = digits.find(word[i + 2]);
    if (high != digits.npos && low != digits.npos) out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

template <class Number>
bool read_number(std::string_view text, Number& to) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), to);
  return wrong == std::errc{} && end == text.data() + text.size();
}

bool read_weight(std::string_view text, claim_text& to) {
  const auto slash = text.find('/');
  return slash != text.npos && read_number(text.substr(0, slash), to.weight) &&
         read_number(text.substr(slash + 1), to.capacity);
}

bool read_token(std::string_view text, claim_text& to) {
  using source = claim_text::source;
  to.token_is = text == "c" ? source::created : text == "m" ? source::modified : source::fixed;
  return to.token_is != source::fixed || read_number(text, to.token);
}

bool read_state(std::string_view text, claim_text& to) {
  using condition = claim_text::condition;
  if (text == "-") return true;
  if (text.starts_with('u')) {
    to.state = condition::upgrading;
    return text.size() == 1 || read_number(text.substr(1), to.upgrading_since);
  }
  to.state = text == "e" ? condition::evicted : condition::over;
  return text == "e" || text == "o";
}

}  // namespace

std::string claim_text::text() const {
  std::string out(version);
  out.reserve(160);
  out += mode == lock_mode::shared ? " s " : capacity == lock_capacity ? " x " : " p ";
  out += to_string(id);
  out += ' ' + std::to_string(weight) + '/' + std::to_string(capacity);
  out += token_is == source::created ? " c" : token_is == source::modified ? " m" : ' ' + std::to_string(token);
  switch (state) {
    case condition::usual: out += " -"; break;
    case condition::upgrading: out += upgrading_since == 0 ? " u" : " u" + std::to_string(upgrading_since); break;
    case condition::evicted: out += " e"; break;
    case condition::over: out += " o"; break;
  }
  out += ' ' + std::to_string(since) + ' ' + std::to_string(lease) + ' ' + std::to_string(origin.pid);
  for (const auto* word : {&origin.host, &origin.program, &origin.purpose}) add_word(out, *word);
  return out;
}

std::optional<claim_text> claim_text::read(std::string_view text) {
  std::array<std::string_view, 12> words;
  std::size_t count = 0;
  for (std::size_t at = 0; at <= text.size() && count < words.size(); ++count) {
    const auto blank = std::min(text.find(' ', at), text.size());
    words[count] = text.substr(at, blank - at);
    at = blank + 1;
  }
  if (count != words.size() || words[0] != version) return {};
  claim_text out;
  out.mode = words[1] == "s" ? lock_mode::shared : lock_mode::exclusive;
  const auto id = claim_id::parse(words[2]);
  if (!id || !read_weight(words[3], out) || !read_token(words[4], out) || !read_state(words[5], out) ||
      !read_number(words[6], out.since) || !read_number(words[7], out.lease) || !read_number(words[8], out.origin.pid))
    return {};
  out.id = *id;
  out.origin.host = read_word(words[9]);
  out.origin.program = read_word(words[10]);
  out.origin.purpose = read_word(words[11]);
  return out;
}

claim_text claim_text::fixed_by(const key_value& written) const {
  auto out = *this;
  if (token_is == source::modified) {
    out.token_is = source::fixed;
    out.token = static_cast<std::uint64_t>(written.modified);
  }
  if (state == condition::upgrading && upgrading_since == 0) out.upgrading_since = written.modified;
  return out;
}

}  // namespace interlock::inline v1::etcd_store
