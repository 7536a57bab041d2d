// SPDX-License-Identifier: MIT
#include "backends/etcd/queue_rules.hpp"

#include "core/sha256.hpp"

#include <algorithm>
#include <span>

namespace interlock::inline v1::etcd_store {

using condition = claim_text::condition;

namespace {

claim_id foreign_id(const key_value& kv) {
  const auto text = kv.key + '\0' + std::to_string(kv.created);
  const auto whole = core::sha256(std::as_bytes(std::span(text)));
  std::array<std::byte, 16> half{};
  std::copy_n(whole.begin(), half.size(), half.begin());
  return claim_id(half);
}

revision upgrade_began(const place& one) noexcept {
  return one.said.upgrading_since != 0 ? one.said.upgrading_since : one.kv.modified;
}

bool upgrades(const place& one) noexcept { return one.said.state == condition::upgrading; }

}  // namespace

line::line(std::vector<key_value> keys) {
  std::sort(keys.begin(), keys.end(), [](const key_value& a, const key_value& b) { return a.created < b.created; });
  places_.reserve(keys.size());
  for (auto& kv : keys) {
    auto& one = places_.emplace_back();
    auto said = claim_text::read(kv.value);
    one.foreign = !said;
    if (said)
      one.said = std::move(*said);
    else
      one.said.id = foreign_id(kv);
    one.kv = std::move(kv);
  }
  settle();
}

void line::settle() {
  revision shut_since = 0;  // the first upgrade began then
  for (auto& one : places_) {
    if (one.said.state == condition::over) continue;
    if (capacity_ == 0) capacity_ = one.said.capacity;
    const bool late = shut_since != 0 && one.kv.created > shut_since;
    one.held = !closed_ && !late && used_ + one.said.weight <= one.said.capacity;
    used_ += one.said.weight;
    if (!one.held) closed_ = true;
    if (one.held && upgrades(one)) {
      const auto began = upgrade_began(one);
      shut_since = shut_since == 0 ? began : std::min(shut_since, began);
    }
  }
  if (shut_since != 0) closed_ = true;
}

const place* line::find(const claim_id& id) const noexcept {
  for (const auto& one : places_)
    if (one.said.id == id) return &one;
  return nullptr;
}

bool line::admits(std::uint32_t weight, std::uint32_t capacity) const noexcept {
  return !closed_ && used_ + weight <= capacity;
}

std::uint32_t line::waiting_before(const place& one) const noexcept {
  return static_cast<std::uint32_t>(std::count_if(places_.begin(), places_.end(), [&](const place& other) {
    return !other.held && other.said.state != condition::over && other.kv.created < one.kv.created;
  }));
}

std::uint32_t line::waiting() const noexcept {
  return static_cast<std::uint32_t>(std::count_if(places_.begin(), places_.end(), [](const place& other) {
    return !other.held && other.said.state != condition::over;
  }));
}

bool line::others_hold(const place& one) const noexcept {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const place& other) { return other.held && other.kv.key != one.kv.key; });
}

bool line::other_upgrades(const place& one) const noexcept {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const place& other) { return other.held && upgrades(other) && other.kv.key != one.kv.key; });
}

std::uint64_t token_of(const place& one) noexcept {
  switch (one.said.token_is) {
    case claim_text::source::created: return static_cast<std::uint64_t>(one.kv.created);
    case claim_text::source::modified: return static_cast<std::uint64_t>(one.kv.modified);
    case claim_text::source::fixed: return one.said.token;
  }
  return 0;
}

}  // namespace interlock::inline v1::etcd_store
