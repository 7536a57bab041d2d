// SPDX-License-Identifier: MIT
#include "backends/redis/plain_notes.hpp"

#include "backends/redis/plain_keys.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace interlock::inline v1::redis_store {
namespace {

constexpr std::size_t stamp = 15;  // digits of an instant
constexpr std::size_t value_length = 32;

std::int64_t number(std::string_view text) noexcept {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

void add_string(std::string& to, std::string_view text) {
  to.append(std::to_string(text.size())).append(":").append(text);
}

std::string take_string(std::string_view& from) {
  const auto colon = from.find(':');
  if (colon == from.npos) return {};
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(number(from.substr(0, colon)), 0));
  from.remove_prefix(colon + 1);
  std::string out(from.substr(0, size));
  from.remove_prefix(out.size());
  return out;
}

void read_holder(std::string_view note, std::int64_t now, plain_sight& out) {
  if (note.size() < value_length + stamp || note.substr(0, value_length) != out.value) return;
  out.ours = true;
  note.remove_prefix(value_length);
  out.holder.age = milliseconds{std::max<std::int64_t>(now - number(note.substr(0, stamp)), 0)};
  note.remove_prefix(stamp);
  const auto space = std::min(note.find(' '), note.size());
  if (const auto token = number(note.substr(0, space)); token > 0)
    out.holder.token = fencing_token(static_cast<std::uint64_t>(token));
  unpack_who(note.substr(std::min(space + 1, note.size())), out.holder);
}

void read_waiter(std::string_view value, std::string_view note, std::int64_t now, plain_sight& out) {
  if (note.size() < 1 + 2 * stamp || note.front() != 'w') return;
  const auto left = number(note.substr(1, stamp)) - now;
  if (left < 0) return;
  claim_info one;
  one.id = id_of(value);
  one.lease_left = milliseconds{left};
  one.age = milliseconds{std::max<std::int64_t>(now - number(note.substr(1 + stamp, stamp)), 0)};
  unpack_who(note.substr(1 + 2 * stamp), one);
  out.waiters.emplace_back(value, std::move(one));
}

}  // namespace

std::string pack_who(const claim_origin* origin) {
  std::string out;
  if (origin == nullptr) return out;
  out.append(std::to_string(origin->pid)).append(" ");
  add_string(out, origin->host);
  add_string(out, origin->program);
  add_string(out, origin->purpose);
  return out;
}

void unpack_who(std::string_view text, claim_info& into) {
  const auto space = text.find(' ');
  if (space == text.npos) return;
  into.pid = number(text.substr(0, space));
  text.remove_prefix(space + 1);
  into.host = take_string(text);
  into.program = take_string(text);
  into.purpose = take_string(text);
}

plain_sight read_sight(const reply& from) {
  plain_sight out;
  out.type = from[0].text();
  out.value = from[1].text();
  const auto left = from[2].number(), now = from[3].number();
  out.holder.id = id_of(out.value);
  out.holder.lease_left = left < 0 ? milliseconds::max() : milliseconds{left};  // -1: its holder set no lease
  std::string_view field;
  std::size_t at = 0;
  for (const auto each : from) {
    if (++at <= 4) continue;
    if (at % 2 == 1) {
      field = each.text();
    } else if (field == "h") {
      read_holder(each.text(), now, out);
    } else if (field.size() == value_length) {
      read_waiter(field, each.text(), now, out);
    }
  }
  std::stable_sort(out.waiters.begin(), out.waiters.end(), [](const auto& left_one, const auto& right_one) {
    return left_one.second.age > right_one.second.age;
  });
  return out;
}

}  // namespace interlock::inline v1::redis_store
