// SPDX-License-Identifier: MIT
#include "core/hex.hpp"
#include "core/random.hpp"
#include "core/sha256.hpp"

#include <interlock/backend.hpp>
#include <interlock/info.hpp>
#include <interlock/options.hpp>

#include <algorithm>
#include <cstring>

namespace interlock::inline v1 {
namespace {

std::array<std::byte, 16> half_hash(std::span<const std::byte> data) noexcept {
  const auto whole = core::sha256(data);
  std::array<std::byte, 16> half{};
  std::copy_n(whole.begin(), half.size(), half.begin());
  return half;
}

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

claim_id public_id(const claim_secret& secret) noexcept { return claim_id(core::half_sha256(secret.bytes())); }

std::string to_string(const claim_id& id) {
  const auto digits = core::hex_of(id.bytes_);
  return {digits.data(), digits.size()};
}

std::optional<claim_id> claim_id::parse(std::string_view text) noexcept {
  if (text.size() != 32) return {};
  claim_id out;
  for (std::size_t i = 0; i < 16; ++i) {
    const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return {};
    out.bytes_[i] = static_cast<std::byte>(high * 16 + low);
  }
  return out;
}

owner_id::owner_id(std::string_view text) noexcept : bytes_(half_hash(std::as_bytes(std::span(text)))) {}

owner_id owner_id::random() {
  core::kernel_random from;
  owner_id out;
  out.bytes_ = from.secret().bytes();
  return out;
}

// Drawn once per thread, so that a later thread that happens to get the same number is another owner.
owner_id owner_id::this_thread() noexcept {
  thread_local const owner_id mine = random();
  return mine;
}

std::string_view to_string(lock_mode mode) noexcept { return mode == lock_mode::shared ? "shared" : "exclusive"; }

std::string_view to_string(guarantee promise) noexcept {
  switch (promise) {
    case guarantee::best_effort: return "best_effort";
    case guarantee::fenced: return "fenced";
    case guarantee::strict: return "strict";
  }
  return "unknown";
}

std::string_view to_string(lock_state state) noexcept {
  switch (state) {
    case lock_state::empty: return "empty";
    case lock_state::held: return "held";
    case lock_state::jeopardy: return "jeopardy";
    case lock_state::lost: return "lost";
    case lock_state::released: return "released";
  }
  return "unknown";
}

std::string_view to_string(loss_reason reason) noexcept {
  switch (reason) {
    case loss_reason::none: return "none";
    case loss_reason::lapsed: return "lapsed";
    case loss_reason::broken: return "broken";
    case loss_reason::store_reset: return "store_reset";
    case loss_reason::overheld: return "overheld";
    case loss_reason::closed: return "closed";
    case loss_reason::forked: return "forked";
  }
  return "unknown";
}

std::string_view to_string(event_kind kind) noexcept {
  switch (kind) {
    case event_kind::acquired: return "acquired";
    case event_kind::gave_up: return "gave_up";
    case event_kind::released: return "released";
    case event_kind::release_failed: return "release_failed";
    case event_kind::jeopardy: return "jeopardy";
    case event_kind::recovered: return "recovered";
    case event_kind::lost: return "lost";
    case event_kind::connected: return "connected";
    case event_kind::disconnected: return "disconnected";
    case event_kind::events_dropped: return "events_dropped";
  }
  return "unknown";
}

}  // namespace interlock::inline v1
