// SPDX-License-Identifier: MIT
#include "backends/sql/survey.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace interlock::inline v1::sql {
namespace {

// The first name behind all that begin so; empty: there is none.
std::string behind(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

/// One row of a survey.
struct record {
  const rows& all;
  std::size_t row;

  [[nodiscard]] std::string_view bytes(std::size_t column) const { return all.field(row, column); }
  [[nodiscard]] std::int64_t number(std::size_t column) const {
    std::int64_t out = 0;
    const auto text = bytes(column);
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
};

claim_info read_claim(const record& from, bool held, bool is_lock) {
  claim_info out;
  const auto secret = from.bytes(2);
  std::array<std::byte, 16> raw{};
  std::memcpy(raw.data(), secret.data(), std::min(raw.size(), secret.size()));
  out.id = public_id(claim_secret(raw));
  out.mode = from.number(4) != 0 ? lock_mode::shared : lock_mode::exclusive;
  out.permits = is_lock ? 1 : static_cast<std::uint32_t>(from.number(5));
  if (held) {
    out.token = fencing_token(static_cast<std::uint64_t>(from.number(6)));
    out.tokens = static_cast<std::uint32_t>(from.number(7));
  }
  out.age = milliseconds(from.number(8));
  out.lease_left = milliseconds(from.number(9));
  auto origin = read_origin(from.bytes(10));
  out.host = std::move(origin.host);
  out.program = std::move(origin.program);
  out.purpose = std::move(origin.purpose);
  out.pid = origin.pid;
  return out;
}

}  // namespace

survey_range range_of(const survey_query& what) {
  survey_range out{.from = what.prefix, .most = std::max<std::size_t>(what.most, 1)};
  if (!what.after.empty()) out.from = std::max(out.from, what.after + '\0');
  out.before = what.exact ? what.prefix + '\0' : behind(what.prefix);
  return out;
}

survey_page read_page(const rows& all, std::size_t most) {
  survey_page out;
  for (std::size_t row = 0; row < all.size(); ++row) {
    const record from{all, row};
    const auto name = from.bytes(0);
    const auto capacity = static_cast<std::uint32_t>(from.number(1));
    if (out.locks.empty() || out.locks.back().name != name) {
      if (out.locks.size() == most) {
        out.more = true;
        break;
      }
      out.locks.emplace_back();
      out.locks.back().name = name;
      out.locks.back().limit = capacity == lock_capacity ? 1 : capacity;
    }
    const bool held = from.number(3) != 0;
    auto& one = out.locks.back();
    (held ? one.holders : one.waiters).push_back(read_claim(from, held, capacity == lock_capacity));
  }
  return out;
}

std::string write_origin(const claim_origin& from) {
  return std::to_string(from.pid) + '\n' + from.host + '\n' + from.program + '\n' + from.purpose;
}

claim_origin read_origin(std::string_view text) {
  claim_origin out;
  const auto line = [&] {
    const auto end = text.find('\n');
    const auto one = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return one;
  };
  const auto pid = line();
  std::from_chars(pid.data(), pid.data() + pid.size(), out.pid);
  out.host = line();
  out.program = line();
  out.purpose = text;  // whatever it contains
  return out;
}

}  // namespace interlock::inline v1::sql
