// SPDX-License-Identifier: MIT
#include <interlock/fence.hpp>

#include "api/fence_token.hpp"

#include <charconv>

namespace interlock::inline v1 {

bool fence::admit(fencing_token token) noexcept {
  // A number no store gives out would either pass for "none yet" or shut the fence for ever.
  if (!is_token(token)) return false;
  auto seen = highest_.load(std::memory_order_relaxed);
  while (seen < token.value())
    if (highest_.compare_exchange_weak(seen, token.value(), std::memory_order_acq_rel)) return true;
  return seen == token.value();
}

std::optional<fencing_token> fence::highest() const noexcept {
  const auto seen = highest_.load(std::memory_order_acquire);
  if (seen == 0) return std::nullopt;
  return fencing_token{seen};
}

std::optional<fencing_token> parse_token(std::string_view text) noexcept {
  // One spelling per token: "+33", " 33" and "033" are somebody else's idea of a number.
  if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stopped != end || !is_token(fencing_token{value})) return std::nullopt;
  return fencing_token{value};
}

}  // namespace interlock::inline v1
