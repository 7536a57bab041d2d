// SPDX-License-Identifier: MIT
#include "backends/memcached/record.hpp"

#include "core/hex.hpp"

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

template <class T>
void append(std::string& to, T number, char end) {
  char digits[24];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr).append(1, end);
}

}  // namespace

void write_record(std::string& to, const record_head& what, const claim_origin& from) {
  const auto id = core::hex_of(what.secret.bytes());
  to.append(id.data(), id.size());
  to += what.evicted ? " e " : " h ";
  append(to, what.token, ' ');
  append(to, what.since, ' ');
  append(to, from.pid, '\n');
  to.append(from.host).append(1, '\n').append(from.program).append(1, '\n').append(from.purpose);
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
