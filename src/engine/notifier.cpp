// SPDX-License-Identifier: MIT
#include "engine/notifier.hpp"

#include "engine/thread.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace interlock::inline v1::runtime {
namespace {
thread_local const void* own_thread_of = nullptr;
}

// Shared with the thread, which may outlive the notifier when the last handle goes away inside a callback.
struct notifier::state {
  executor user;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<unique_function<void()>> jobs;
  std::thread thread;
  bool started = false;
  bool running = false;  // a job
  bool stopping = false;

  void run() {
    own_thread_of = this;
    std::vector<unique_function<void()>> taken;  // swapped in and out, so that a busy thread allocates nothing
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return !jobs.empty() || stopping; });
      if (jobs.empty()) return;
      taken.swap(jobs);
      running = true;
      lock.unlock();
      for (auto& job : taken) {
        job();
        job = {};
      }
      taken.clear();
      lock.lock();
      running = false;
      if (jobs.empty()) changed.notify_all();
    }
  }
};

notifier::notifier(executor user) : state_(std::make_shared<state>()) { state_->user = std::move(user); }

notifier::~notifier() { stop(); }

void notifier::post(unique_function<void()> work) noexcept {
  if (state_->user) {
    auto kept = std::make_shared<unique_function<void()>>(std::move(work));
    state_->user([kept] { (*kept)(); });
    return;
  }
  bool wake = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->jobs.push_back(std::move(work));
    if (!state_->started && !state_->stopping) {
      state_->started = true;
      state_->thread = start_thread("interlock-calls", [state = state_] { state->run(); });
    }
    wake = state_->jobs.size() == 1 && !state_->running;
  }
  if (wake) state_->changed.notify_all();  // not before: whom it wakes wants the mutex
}

bool notifier::is_current() const noexcept { return own_thread_of == state_.get(); }

void notifier::adopt_current_thread() const noexcept { own_thread_of = state_.get(); }

void notifier::drain() {
  std::unique_lock lock(state_->mutex);
  if (state_->started) state_->changed.wait(lock, [&] { return state_->jobs.empty() && !state_->running; });
}

void notifier::stop() noexcept {
  std::thread ending;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    ending = std::move(state_->thread);
    state_->changed.notify_all();
  }
  if (!ending.joinable()) return;
  if (is_current())
    ending.detach();  // it ends after this very callback
  else
    ending.join();
}

}  // namespace interlock::inline v1::runtime
