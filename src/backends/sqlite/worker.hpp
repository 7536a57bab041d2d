// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>
#include <interlock/result.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace interlock::inline v1::sqlite_store {

/// Something to be done under the connection's lock, in its turn.
class job {
 public:
  job() = default;
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  virtual ~job() = default;
  /// false: somebody else is writing; it will be asked again. The connection is locked.
  virtual bool attempt() = 0;
  /// After an attempt that was not false, with nothing locked.
  virtual void finish() = 0;
  /// Instead of both.
  virtual void refuse(const failure& why) = 0;

  instant until = instant::max();  ///< given up after this, with the failure of the worker's owner
};

/// One thread, started when there is first something to do, that does jobs in order and waits for the write lock where
/// a caller must not. Stops at once, also in the middle of such a wait.
class worker {
 public:
  /// `door` guards the connection; `overdue` is told to jobs whose time is over.
  worker(std::mutex& door, const time_source& time, failure overdue) noexcept
      : door_(door), time_(time), overdue_(std::move(overdue)) {}
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker() { stop(); }

  void queue(std::unique_ptr<job> one);
  /// Not before `delay`, and holding up nobody until then. Dropped by stop().
  void queue_later(std::chrono::milliseconds delay, std::unique_ptr<job> one);
  /// Nothing is queued or being done, so nothing can be overtaken.
  [[nodiscard]] bool idle() const noexcept { return backlog_.load(std::memory_order_acquire) == 0; }
  /// What is still queued is refused with errc::closed. Not from the worker's own thread.
  void stop() noexcept;

 private:
  using steady = std::chrono::steady_clock;
  struct delayed {
    steady::time_point when;
    std::unique_ptr<job> one;
  };
  void start();
  void run();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  bool attempt(job& one);

  std::mutex& door_;
  const time_source& time_;
  failure overdue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<job>> jobs_;
  std::deque<delayed> later_;
  std::atomic<int> backlog_{0};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace interlock::inline v1::sqlite_store
