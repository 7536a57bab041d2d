// SPDX-License-Identifier: MIT
#include "busy_locks.hpp"

#include "machine.hpp"
#include "redis_requests.hpp"

#include <stdexcept>
#include <utility>

namespace bench {

busy_locks::busy_locks(const interlock::client& locks, std::vector<std::string> names, releases how)
    : locks_(locks), names_(std::move(names)), how_(how), running_(names_.size()) {
  for (std::size_t i = 0; i < names_.size(); ++i) acquire(i);
}

void busy_locks::acquire(std::size_t which) {
  locks_.async_acquire(names_[which]).then([this, which](interlock::result<interlock::guard> got) {
    acquired(which, std::move(got));
  });
}

void busy_locks::acquired(std::size_t which, interlock::result<interlock::guard> got) {
  if (!got) return released(which, false);
  if (how_ == releases::detached) {
    { const auto ends_here = std::move(*got); }
    return released(which, true);
  }
  got->async_release().then([this, which](const interlock::result<void>& done) { released(which, done.has_value()); });
}

void busy_locks::released(std::size_t which, bool good) {
  if (good)
    pairs_.fetch_add(1, std::memory_order_relaxed);
  else
    refused_ = over_ = true;
  if (!over_.load(std::memory_order_relaxed)) return acquire(which);
  if (running_.fetch_sub(1) == 1) running_.notify_all();
}

void busy_locks::end() {
  over_ = true;
  for (auto left = running_.load(); left > 0; left = running_.load()) running_.wait(left);
}

void busy_locks::finish() {
  end();
  if (refused_) throw std::runtime_error("a lock that nobody else wants was refused");
}

double busy_pace(const interlock::client& locks, int count, double seconds) {
  busy_locks all(locks, numbered("many", count));
  const double pace = pace_of(all.pairs(), seconds);
  all.finish();
  return pace;
}

double lone_pace(const interlock::client& locks, double seconds) {
  int pairs = 0;
  const double begin = now();
  for (; now() < begin + seconds; ++pairs) locks.acquire("lone").release().value();
  return (now() - begin) / pairs;
}

}  // namespace bench
