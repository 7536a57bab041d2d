// SPDX-License-Identifier: MIT
#include "backends/memcached/record.hpp"

#include <array>
#include <charconv>
#include <cstddef>

namespace interlock::inline v1::memcached_store {
namespace {

std::string_view until(char end, std::string_view& rest) {
  const auto at = rest.find(end);
  const auto out = rest.substr(0, at);
  rest.remove_prefix(at == rest.npos ? rest.size() : at + 1);
  return out;
}

template <class T>
bool read(std::string_view text, T& to) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), to);
  return wrong == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string write_record(const record& what) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const auto byte : what.secret.bytes())
    out += {digits[std::to_integer<unsigned>(byte) >> 4], digits[std::to_integer<unsigned>(byte) & 15]};
  out += what.evicted ? " e " : " h ";
  out += std::to_string(what.token) + ' ' + std::to_string(what.since) + ' ' + std::to_string(what.from.pid) + '\n';
  return out + what.from.host + '\n' + what.from.program + '\n' + what.from.purpose;
}

std::optional<record> read_record(std::string_view text) {
  record out;
  const auto id = claim_id::parse(until(' ', text));
  const auto state = until(' ', text);
  if (!id || (state != "h" && state != "e")) return {};
  if (!read(until(' ', text), out.token) || !read(until(' ', text), out.since) ||
      !read(until('\n', text), out.from.pid))
    return {};
  out.secret = claim_secret(id->bytes());
  out.evicted = state == "e";
  out.from.host = until('\n', text);
  out.from.program = until('\n', text);
  out.from.purpose = text;
  return out;
}

}  // namespace interlock::inline v1::memcached_store
