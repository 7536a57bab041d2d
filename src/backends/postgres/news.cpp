// SPDX-License-Identifier: MIT
#include "backends/postgres/news.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>

namespace interlock::inline v1::postgres_store {
namespace {

std::string_view word(std::string_view& rest) noexcept {
  const auto end = rest.find(' ');
  const auto out = rest.substr(0, end);
  rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  return out;
}

template <class T>
bool read(std::string_view text, T& to) noexcept {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), to);
  return wrong == std::errc{} && end == text.data() + text.size();
}

// 00112233-4455-6677-8899-aabbccddeeff
std::optional<claim_secret> read_secret(std::string_view text) noexcept {
  std::array<std::byte, 16> out{};
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    unsigned value = 0;
    if (digits == 32 || std::from_chars(&c, &c + 1, value, 16).ec != std::errc{}) return {};
    out[digits / 2] |= static_cast<std::byte>(digits % 2 == 0 ? value << 4 : value);
    ++digits;
  }
  if (digits != 32) return {};
  return claim_secret(out);
}

}  // namespace

void deliver(std::string_view text, backend_events& to) noexcept {
  const auto what = word(text);
  const auto whom = read_secret(word(text));
  if (!whom) return;
  if (what == "e") return to.evicted(*whom);
  standing as;
  as.is = standing::kind::held;
  int shared = 0;
  if (what != "g" || !read(word(text), as.token) || !read(word(text), as.tokens) || !read(word(text), shared) ||
      !read(word(text), as.behind) || !read(word(text), as.memo) || as.token == 0)
    return;
  as.mode = shared != 0 ? lock_mode::shared : lock_mode::exclusive;
  to.granted(*whom, as);
}

}  // namespace interlock::inline v1::postgres_store
