// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_waiters.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace interlock::inline v1::redis_store::redisson {

namespace {
constexpr auto all = std::numeric_limits<std::size_t>::max();
}

std::uint64_t waiters::heard(std::string_view channel) {
  if (count_.load(std::memory_order_acquire) == 0) return 0;
  const std::lock_guard held(mutex_);
  const auto found = places_.find(channel);
  return found == places_.end() ? 0 : found->second.heard;
}

void waiters::wait(const std::string& channel, const claim_secret& who, std::uint64_t heard_before, bool more) {
  std::vector<claim_secret> look;
  bool subscribe = false;
  {
    const std::lock_guard held(mutex_);
    const auto [at, is_new] = places_.try_emplace(channel);
    auto& here = at->second;
    if (is_new) here.heard = ++clock_;
    count_.store(places_.size(), std::memory_order_release);
    subscribe = is_new;
    auto mine = std::find_if(here.line.begin(), here.line.end(), [&](const waiter& one) { return one.who == who; });
    if (mine == here.line.end()) mine = here.line.insert(mine, {who});
    mine->woken = false;
    const auto next = static_cast<std::size_t>(mine - here.line.begin()) + 1;
    if (!is_new && here.heard != heard_before) {
      mine->woken = true;
      look.push_back(who);
    }
    if (more) wake_next(here, next, 1, look);
  }
  for (const auto& one : look) events_.look_again(one);
  if (subscribe)
    way_.subscribe(channel, [this, channel](result<reply> done) {
      if (done) wake(channel, all);
    });
}

void waiters::stop(std::string_view channel, const claim_secret& who, bool took) {
  if (count_.load(std::memory_order_acquire) == 0) return;
  std::vector<claim_secret> look;
  bool unsubscribe = false;
  {
    const std::lock_guard held(mutex_);
    const auto found = places_.find(channel);
    if (found == places_.end()) return;
    auto& line = found->second.line;
    const auto mine = std::find_if(line.begin(), line.end(), [&](const waiter& one) { return one.who == who; });
    if (mine == line.end()) return;
    const bool pass_on = mine->woken && !took;  // the news may have been meant for whoever can use it
    line.erase(mine);
    if (pass_on) wake_next(found->second, 0, 1, look);
    if (line.empty()) {
      places_.erase(found);
      count_.store(places_.size(), std::memory_order_release);
      unsubscribe = true;
    }
  }
  for (const auto& one : look) events_.look_again(one);
  if (unsubscribe) way_.unsubscribe(channel);
}

void waiters::wake_next(place& here, std::size_t from, std::size_t most, std::vector<claim_secret>& out) {
  // Everybody has been told and nobody has come back: their answers went another way. Begin anew.
  if (std::all_of(here.line.begin(), here.line.end(), [](const waiter& one) { return one.woken; }))
    for (auto& one : here.line) one.woken = false;
  for (auto i = from; i < here.line.size() && most > 0; ++i) {
    if (std::exchange(here.line[i].woken, true)) continue;
    out.push_back(here.line[i].who);
    --most;
  }
}

void waiters::wake(std::string_view channel, std::size_t most) noexcept {
  std::vector<claim_secret> look;
  {
    const std::lock_guard held(mutex_);
    const auto found = places_.find(channel);
    if (found == places_.end()) return;
    found->second.heard = ++clock_;
    wake_next(found->second, 0, most, look);
  }
  for (const auto& one : look) events_.look_again(one);
}

void waiters::message(std::string_view channel, std::string_view payload) noexcept {
  wake(channel, payload == "0" ? 1 : all);
}

void waiters::permits(std::string_view channel, std::string_view payload) noexcept {
  std::size_t count = 0;
  const auto read = std::from_chars(payload.data(), payload.data() + payload.size(), count);
  wake(channel, read.ec == std::errc{} ? count : all);
}

}  // namespace interlock::inline v1::redis_store::redisson
