// SPDX-License-Identifier: MIT
#include "backends/sqlite/worker.hpp"

#include "backends/sqlite/pause.hpp"
#include "engine/thread.hpp"

#include <string>
#include <system_error>
#include <utility>

namespace interlock::inline v1::sqlite_store {

void worker::queue(std::unique_ptr<job> one) {
  std::unique_lock lock(mutex_);
  failure why(errc::closed, "sqlite store: this client was closed");
  if (!stopping_) {
    try {
      if (!thread_.joinable()) start();
      jobs_.push_back(std::move(one));
      backlog_.fetch_add(1, std::memory_order_release);
      changed_.notify_one();
      return;
    } catch (const std::system_error& error) {
      why = failure(errc::unavailable, std::string("sqlite store: no thread for work that waits: ") + error.what());
    }
  }
  lock.unlock();
  one->refuse(why);
}

void worker::queue_later(std::chrono::milliseconds delay, std::unique_ptr<job> one) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  later_.push_back({steady::now() + delay, std::move(one)});
  if (thread_.joinable()) {
    changed_.notify_one();
    return;
  }
  try {
    start();
  } catch (const std::system_error&) {
    later_.clear();  // a hint less; whoever it was for has a timer
  }
}

void worker::start() {
  thread_ = runtime::start_thread("interlock-file", [this] { run(); });
}

bool worker::attempt(job& one) {
  const std::lock_guard door(door_);
  return one.attempt();
}

void worker::wait_for_work(std::unique_lock<std::mutex>& lock) {
  if (later_.empty()) {
    changed_.wait(lock);
  } else if (steady::now() < later_.front().when) {
    changed_.wait_until(lock, later_.front().when);
  } else {
    jobs_.push_back(std::move(later_.front().one));
    later_.pop_front();
    backlog_.fetch_add(1, std::memory_order_release);
  }
}

void worker::run() {
  pause wait;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (jobs_.empty()) {
      wait_for_work(lock);
      continue;
    }
    auto& next = *jobs_.front();  // stays in the queue, so that nothing overtakes it
    lock.unlock();
    const bool done = attempt(next);
    const bool late = !done && time_.now() >= next.until;
    lock.lock();
    if (!done && !late) {
      changed_.wait_for(lock, wait.next(), [this] { return stopping_; });
      continue;
    }
    wait.restart();
    const auto one = std::move(jobs_.front());
    jobs_.pop_front();
    backlog_.fetch_sub(1, std::memory_order_release);
    lock.unlock();
    if (done)
      one->finish();
    else
      one->refuse(overdue_);
    lock.lock();
  }
}

void worker::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const auto& one : std::exchange(jobs_, {}))
    one->refuse(failure(errc::closed, "sqlite store: this client was closed"));
}

}  // namespace interlock::inline v1::sqlite_store
