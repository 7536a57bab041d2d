// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "machine.hpp"
#include "raw_queue.hpp"
#include "redis_server.hpp"
#include "tapped_link.hpp"

#include <interlock/semaphore.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>

namespace bench {
namespace {

constexpr std::array lengths{8, 64, 512};

/// Waiters of one process behind a holder. The callers of a lock would pass it on among themselves without asking the
/// server; those of a semaphore queue in the server each, and it is the server's hand-off that is measured.
class drained_queue {
 public:
  drained_queue(const interlock::client& locks, int length) : left_(length) {
    const interlock::semaphore gate(locks, "drain", 1);
    held_.emplace(gate.acquire());
    for (int i = 0; i < length; ++i)
      gate.async_acquire().then([this](const interlock::result<interlock::guard>& got) { served(got.has_value()); });
    locks.acquire("behind").release().value();  // answered when all before it were
  }
  /// Seconds from each release until the next one knows, added to `each`.
  void drain(std::vector<double>& each) {
    times_ = &each;
    let_go_ = now();
    held_.reset();
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds{60}, [this] { return left_ == 0; }))
      throw std::runtime_error(std::to_string(left_) + " waiters were never served");
    if (refused_ > 0) throw std::runtime_error(std::to_string(refused_) + " waiters were refused");
  }

 private:
  // The guard is let go when this returns.
  void served(bool granted) {
    times_->push_back(now() - let_go_);
    if (!granted) ++refused_;
    if (left_ == 1) return last();
    --left_;
    let_go_ = now();
  }
  void last() {
    const std::lock_guard lock(mutex_);
    left_ = 0;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  int left_;
  int refused_ = 0;
  double let_go_ = 0;
  std::vector<double>* times_ = nullptr;
  std::optional<interlock::guard> held_;
};

template <class Drain>
double typical_handoff(double seconds, Drain drain) {
  std::vector<double> each;
  each.reserve(std::size_t{1} << 16);
  for (const double end = now() + seconds; now() < end || each.empty();) drain(each);
  return median(std::move(each));
}

measure handoff_of(const interlock::client& locks, int length, double seconds) {
  return [&locks, length, seconds] {
    return typical_handoff(seconds, [&](std::vector<double>& each) { drained_queue(locks, length).drain(each); });
  };
}

void against_raw_queue(const redis_server& server, const settings& with, report& out) {
  raw_queue raw(server.port());
  const interlock::client locks(server.url());
  for (const int length : lengths) {
    const measure floor = [&] {
      return typical_handoff(with.seconds, [&](std::vector<double>& each) { raw.drain(length, each); });
    };
    out.add(compare(with, floor, handoff_of(locks, length, with.seconds))
                .against(1.4, {.name = "redis-drain/" + std::to_string(length),
                               .what = "from a release to the next owner, p50, against a bare queue in the server"}));
  }
  auto grown =
      compare(with, handoff_of(locks, lengths.front(), with.seconds), handoff_of(locks, lengths.back(), with.seconds));
  auto row = grown.against(1.3, {.name = "redis-drain/growth", .what = "the same with 512 waiters, against 8"});
  row.note = "8 waiters " + show_time(median(grown.floors)) + ", 512 waiters " + show_time(median(grown.candidates));
  out.add(std::move(row));
}

void count_requests(const redis_server& server, report& out) {
  constexpr int length = 512;
  tapped_link link(server.port(), 0);
  const interlock::client locks(link.url());
  std::vector<double> ignored;
  drained_queue(locks, 1).drain(ignored);  // brings the scripts with it
  locks.acquire("behind").release().value();
  link.heard();
  drained_queue(locks, length).drain(ignored);
  locks.acquire("behind").release().value();
  constexpr double beside = 4 + 2;  // what the holder and two pairs on the name "behind" sent
  const double requests = static_cast<double>(link.heard().size()) - beside;
  out.add({.name = "redis-drain/requests",
           .what = "requests to the server per hand-off, queueing included",
           .value = requests / length,
           .bar = 2});
}

void count_idle_requests(const redis_server& server, const settings& with, report& out) {
  constexpr int names = 10, waiters = 100;
  constexpr double wait_lease = 10;
  const double window = std::max(12.0, 5 * with.seconds);  // three looks, or four
  const interlock::client holder(server.url());
  tapped_link link(server.port(), 0);
  const interlock::client locks(link.url());
  std::vector<interlock::guard> held;
  std::vector<interlock::pending<interlock::guard>> waiting;
  for (int i = 0; i < names; ++i) held.push_back(holder.acquire("idle/" + std::to_string(i)));
  for (int i = 0; i < waiters; ++i) waiting.push_back(locks.async_acquire("idle/" + std::to_string(i % names)));
  sleep_for(0.5);  // the last one has queued by then
  link.heard();
  sleep_for(window);
  out.add({.name = "redis-drain/idle",
           .what = "requests of a process with 100 waiters on 10 names that another one holds",
           .value = static_cast<double>(link.heard().size()),
           .bar = std::floor(window / (wait_lease / 3)) + 1,
           .note = show_number(window) + " s; one batched look per third of a wait's lease"});
}

}  // namespace

void redis_drain(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redis-drain", why);
  const redis_server server(with.folder);
  against_raw_queue(server, with, out);
  count_requests(server, out);
  count_idle_requests(server, with, out);
}

}  // namespace bench
