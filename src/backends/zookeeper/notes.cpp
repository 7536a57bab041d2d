// SPDX-License-Identifier: MIT
#include "backends/zookeeper/notes.hpp"

#include "core/percent.hpp"

#include <charconv>
#include <utility>

namespace interlock::inline v1::zookeeper_store {
namespace {

constexpr std::string_view head = "interlock=1";

// key=value, separated by blanks; what would spoil that is written %XX.
void put(std::string& to, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  to += ' ';
  to += key;
  to += '=';
  for (const char one : value) {
    const auto byte = static_cast<unsigned char>(one);
    if (byte > ' ' && byte != '%' && byte != 0x7f)
      to += one;
    else
      core::append_percent(to, one);
  }
}
template <class N>
  requires std::is_integral_v<N>
void put(std::string& to, std::string_view key, N value) { put(to, key, std::string_view(std::to_string(value))); }

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' ? core::from_percent(text.substr(i + 1, 2)) : std::nullopt;
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

template <class N>
N number(std::string_view text) {
  N out{};
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

template <class F>
void each(std::string_view data, F&& take) {
  while (!data.empty()) {
    const auto blank = data.find(' ');
    const auto item = data.substr(0, blank);
    data.remove_prefix(blank == data.npos ? data.size() : blank + 1);
    if (const auto equals = item.find('='); equals != item.npos) take(item.substr(0, equals), item.substr(equals + 1));
  }
}

}  // namespace

std::string write_notes(const claim_notes& from) {
  std::string out(head);
  put(out, "lease", from.lease.count());
  if (from.limit != 1) put(out, "permits", from.permits), put(out, "limit", from.limit);
  if (from.token != 0) put(out, "token", from.token);
  if (from.renamed != 0) put(out, "renamed", from.renamed);
  put(out, "host", from.host);
  put(out, "pid", from.pid);
  put(out, "program", from.program);
  put(out, "purpose", from.purpose);
  return out;
}

std::optional<claim_notes> read_notes(std::string_view data) {
  if (!data.starts_with(head)) return {};
  claim_notes out;
  each(data, [&](std::string_view key, std::string_view value) {
    if (key == "lease") out.lease = milliseconds(number<std::int64_t>(value));
    if (key == "permits") out.permits = number<std::uint32_t>(value);
    if (key == "limit") out.limit = number<std::uint32_t>(value);
    if (key == "token") out.token = number<std::uint64_t>(value);
    if (key == "renamed") out.renamed = number<std::int32_t>(value);
    if (key == "pid") out.pid = number<std::int64_t>(value);
    if (key == "host") out.host = unescaped(value);
    if (key == "program") out.program = unescaped(value);
    if (key == "purpose") out.purpose = unescaped(value);
  });
  return out;
}

claim_notes notes_of(const claim& who) {
  claim_notes out;
  out.lease = who.lease;
  if (who.capacity != lock_capacity) out.permits = who.weight, out.limit = who.capacity;
  if (who.origin != nullptr) {
    out.host = who.origin->host;
    out.program = who.origin->program;
    out.purpose = who.origin->purpose;
    out.pid = who.origin->pid;
  }
  return out;
}

std::string write_notes(const lock_notes& from) {
  std::string out(head);
  if (from.token != 0) put(out, "token", from.token);
  put(out, "broken", from.broken);
  return out;
}

lock_notes read_lock_notes(std::string_view data) {
  lock_notes out;
  if (!data.starts_with(head)) return out;
  each(data, [&](std::string_view key, std::string_view value) {
    if (key == "token") out.token = number<std::uint64_t>(value);
    if (key == "broken") out.broken = value;
  });
  return out;
}

}  // namespace interlock::inline v1::zookeeper_store
