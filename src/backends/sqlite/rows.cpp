// SPDX-License-Identifier: MIT
#include "backends/sqlite/rows.hpp"

#include "backends/sqlite/micros.hpp"

#include <array>
#include <charconv>
#include <cstring>

namespace interlock::inline v1::sqlite_store {

using core::book_claim;

namespace {

constexpr std::int64_t state_mask = 3, shared_flag = 4, evicted_flag = 8, upgrading_flag = 16;

std::string write_origin(const claim_origin& from) {
  return std::to_string(from.pid) + '\n' + from.host + '\n' + from.program + '\n' + from.purpose;
}

bool same(const claim_origin& left, const claim_origin& right) noexcept {
  return left.pid == right.pid && left.host == right.host && left.program == right.program &&
         left.purpose == right.purpose;
}

}  // namespace

void read_header(const statement& row, core::claim_book& into) noexcept {
  into.reset(static_cast<std::uint32_t>(row.integer(3)), static_cast<std::uint64_t>(row.integer(1)),
             static_cast<std::uint64_t>(row.integer(4)));
}

bool read_claim(const statement& row, core::claim_book& into) {
  const auto flags = row.integer(5);
  const auto secret = row.bytes(9);
  std::array<std::byte, 16> raw{};
  if (secret.size() != raw.size() || (flags & state_mask) > 2) return false;
  std::memcpy(raw.data(), secret.data(), raw.size());
  auto& one = into.claims().emplace_back();
  one.secret = claim_secret(raw);
  one.seq = static_cast<std::uint64_t>(row.integer(0));
  one.token = static_cast<std::uint64_t>(row.integer(1));
  one.since = from_micros(row.integer(2));
  one.weight = static_cast<std::uint32_t>(row.integer(3));
  one.tokens = static_cast<std::uint32_t>(row.integer(4));
  one.is = static_cast<book_claim::state>(flags & state_mask);
  one.mode = (flags & shared_flag) != 0 ? lock_mode::shared : lock_mode::exclusive;
  one.evicted = (flags & evicted_flag) != 0;
  one.upgrading = (flags & upgrading_flag) != 0;
  one.ends = from_micros(row.integer(6));
  return true;
}

void bind_claim(statement& to, std::string_view name, const book_claim& one, std::int64_t lease) noexcept {
  to.blob(1, name);
  to.integer(2, static_cast<std::int64_t>(one.seq));
  to.integer(3, static_cast<std::int64_t>(one.token));
  to.integer(4, micros_down(one.since));
  to.integer(5, one.weight);
  to.integer(6, one.tokens);
  to.integer(7, static_cast<std::int64_t>(one.is) + (one.mode == lock_mode::shared ? shared_flag : 0) +
                    (one.evicted ? evicted_flag : 0) + (one.upgrading ? upgrading_flag : 0));
  to.integer(8, micros_up(one.ends));
  to.integer(9, lease);
}

std::shared_ptr<const core::claim_source> read_origin(std::string_view text) {
  auto out = std::make_shared<core::claim_source>();
  const auto line = [&] {
    const auto end = text.find('\n');
    const auto one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return one;
  };
  const auto pid = line();
  std::from_chars(pid.data(), pid.data() + pid.size(), out->origin.pid);
  out->origin.host = line();
  out->origin.program = line();
  out->origin.purpose = text;  // whatever it contains
  return out;
}

origin_text::origin_text(claim_origin own) : own_(std::move(own)), last_(own_), text_(write_origin(own_)) {}

const std::string& origin_text::line_of(const claim_origin* given) {
  const auto& from = given != nullptr ? *given : own_;
  if (!same(from, last_)) {
    last_ = from;
    text_ = write_origin(from);
  }
  return text_;
}

}  // namespace interlock::inline v1::sqlite_store
