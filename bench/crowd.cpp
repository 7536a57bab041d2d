// SPDX-License-Identifier: MIT
#include "crowd.hpp"

#include <stdexcept>
#include <utility>

namespace bench {

crowd::crowd(std::size_t waiters, asking ask)
    : ask_(std::move(ask)), served_(waiters), last_(waiters), running_(waiters) {
  for (std::size_t who = 0; who < waiters; ++who) queue(who);
}

void crowd::end() {
  over_ = true;
  for (auto left = running_.load(); left > 0; left = running_.load()) running_.wait(left);
}

const std::vector<std::uint64_t>& crowd::served() const {
  if (refused_) throw std::runtime_error("a waiter was refused");
  return served_;
}

void crowd::queue(std::size_t who) {
  ask_(who).then([this, who](interlock::result<interlock::guard> got) {
    if (got) {
      ++served_[who];
      if (std::exchange(last_, who) != who) changes_.fetch_add(1, std::memory_order_relaxed);
    } else {
      refused_ = over_ = true;
    }
    const bool last = over_.load();
    got = interlock::failure(interlock::errc::closed);  // lets go
    if (!last) return queue(who);
    if (running_.fetch_sub(1) == 1) running_.notify_all();
  });
}

}  // namespace bench
