// SPDX-License-Identifier: MIT
#include "engine/notifier.hpp"

#include "core/brief_mutex.hpp"
#include "engine/thread.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace interlock::inline v1::runtime {
namespace {
using job = std::shared_ptr<detail::posted>;

thread_local const void* own_thread_of = nullptr;
thread_local const void* callback_thread_of = nullptr;
thread_local const void* working_for = nullptr;
}  // namespace

// Shared with the thread, which may outlive the notifier when the last handle goes away inside a callback.
struct notifier::state {
  executor user;
  pastime between;
  mutable core::brief_mutex mutex;
  std::condition_variable_any changed;  // nothing is left to do
  std::vector<job> jobs;
  std::atomic<bool> waiting{false};  // there are jobs; written under the mutex
  std::vector<job> own;              // posted by the thread itself, before any of `jobs`; nobody else looks there
  std::thread thread;
  parker* sleeper = nullptr;  // the thread's, once it runs
  bool started = false;
  bool running = false;  // jobs
  bool resting = false;  // nothing was left to do, and it sleeps
  bool stopping = false;

  void run() {
    own_thread_of = callback_thread_of = this;
    auto& mine = parker::of_this_thread();
    std::vector<job> taken;  // swapped in and out, so that a busy thread allocates nothing
    bool worked = false;
    std::unique_lock lock(mutex);
    sleeper = &mine;
    for (;;) {
      const auto ticket = mine.ticket();
      if (jobs.empty() && own.empty()) {
        resting = stopping || !worked;
        if (resting) changed.notify_all();
        if (stopping) break;
        lock.unlock();
        if (worked)
          worked = between && between(mine, ticket);
        else
          mine.park(ticket);
        lock.lock();
        continue;
      }
      if (own.empty()) {
        taken.swap(jobs);
        waiting.store(false, std::memory_order_relaxed);
      } else {
        taken.swap(own);
      }
      running = true;
      resting = false;
      lock.unlock();
      working_for = this;
      for (auto& job : taken) {
        job->run();
        job.reset();
      }
      taken.clear();
      working_for = nullptr;
      worked = true;
      lock.lock();
      running = false;
    }
    own_thread_of = callback_thread_of = nullptr;  // the state may end before the thread does
  }
};

notifier::notifier(executor user, pastime between) : state_(std::make_shared<state>()) {
  state_->user = std::move(user);
  state_->between = std::move(between);
}

notifier::~notifier() { stop(); }

void notifier::post(job work) noexcept {
  if (state_->user) return state_->user([work = std::move(work)] { work->run(); });
  // Its thread needs no mutex for itself, unless somebody else was first: callbacks come in the order they were posted.
  const bool inside = callback_thread_of == state_.get();
  if (inside && !state_->waiting.load(std::memory_order_relaxed)) return state_->own.push_back(std::move(work));
  parker* wake = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    state_->jobs.push_back(std::move(work));
    state_->waiting.store(true, std::memory_order_relaxed);
    if (!state_->started && !state_->stopping) {
      state_->started = true;
      state_->thread = start_thread("interlock-calls", [state = state_] { state->run(); });
    }
    if (state_->jobs.size() == 1 && !state_->running && !inside) wake = state_->sleeper;
  }
  if (wake != nullptr) wake->unpark();  // not before: whom it wakes wants the mutex
}

bool notifier::is_current() const noexcept { return own_thread_of == state_.get(); }

bool notifier::is_working() const noexcept { return working_for == state_.get(); }

void notifier::adopt_current_thread() const noexcept { own_thread_of = state_.get(); }

void notifier::drain() {
  std::unique_lock lock(state_->mutex);
  if (state_->started) state_->changed.wait(lock, [&] { return state_->jobs.empty() && state_->resting; });
}

void notifier::stop() noexcept {
  std::thread ending;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    ending = std::move(state_->thread);
    if (state_->sleeper != nullptr) state_->sleeper->unpark();
  }
  if (!ending.joinable()) return;
  if (is_current())
    ending.detach();  // it ends after this very callback
  else
    ending.join();
}

}  // namespace interlock::inline v1::runtime
