// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "heap.hpp"
#include "machine.hpp"

#include <interlock/client.hpp>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>

namespace bench {
namespace {

constexpr int short_queue = 8, long_queue = 10'000;

/// A queue of asynchronous waiters behind a holder. When the holder lets go each one is called, drops its guard at once
/// and so passes the lock on to the next.
class waiting_queue {
 public:
  waiting_queue(const interlock::client& locks, int length) : left_(length), held_(locks.acquire(one_name)) {
    for (int i = 0; i < length; ++i)
      locks.async_acquire(one_name).then([this](interlock::result<interlock::guard> got) { served(got.has_value()); });
  }
  /// Seconds from the first waiter served to the last.
  double drain() {
    held_.reset();
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds{60}, [this] { return left_ == 0; }))
      throw std::runtime_error(std::to_string(left_) + " waiters were never served");
    if (refused_ > 0) throw std::runtime_error(std::to_string(refused_) + " waiters were refused");
    return last_ - first_;
  }

 private:
  void served(bool granted) {
    const std::lock_guard lock(mutex_);
    if (!granted) ++refused_;
    if (first_ == 0) first_ = now();
    if (--left_ > 0) return;
    last_ = now();
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  int left_;
  int refused_ = 0;
  double first_ = 0, last_ = 0;
  std::optional<interlock::guard> held_;
};

// Short queues are drained as often as it takes to serve as many as a long one has, and the whole is repeated: one
// drain of ten thousand takes only some milliseconds.
double cost_of_handoff(const interlock::client& locks, int length, double seconds) {
  const int queues = long_queue / length;
  std::vector<double> each;
  for (const double end = now() + seconds; now() < end || each.empty();) {
    double sum = 0;
    for (int i = 0; i < queues; ++i) sum += waiting_queue(locks, length).drain();
    each.push_back(sum / (queues * (length - 1)));
  }
  return median(std::move(each));
}

void measure_room(const interlock::client& locks, report& out) {
  const int threads_before = threads_of_this_process();
  double bytes = 0;
  int threads = 0;
  {
    const heap_watch watch;
    waiting_queue waiting(locks, long_queue);
    bytes = double(watch.growth()) / long_queue;
    threads = threads_of_this_process() - threads_before;
    waiting.drain();
  }
  out.add({.name = "many-waiters/bytes",
           .what = "heap per asynchronous waiter, 10 000 on one name",
           .unit = " B",
           .value = bytes,
           .bar = 2048,
           .below = true});
  out.add({.name = "many-waiters/threads",
           .what = "threads more than before, with 10 000 waiting",
           .value = double(threads),
           .bar = 0.0});
}

}  // namespace

void many_waiters(const settings& with, report& out) {
  const interlock::client locks("memory:");
  measure_room(locks, out);
  const measure floor = [&] { return cost_of_handoff(locks, short_queue, with.seconds); };
  const measure candidate = [&] { return cost_of_handoff(locks, long_queue, with.seconds); };
  auto compared = compare(with, floor, candidate);
  auto row = compared.against(1.3, {.name = "many-waiters/drain",
                                    .what = "one hand-off in a draining queue of 10 000, against one in a queue of 8"});
  row.note =
      "8 waiters " + show_time(median(compared.floors)) + ", 10 000 waiters " + show_time(median(compared.candidates));
  out.add(std::move(row));
}

}  // namespace bench
