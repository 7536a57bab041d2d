// SPDX-License-Identifier: MIT
#pragma once

#include "engine/thread.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace interlock::inline v1::net {

/// Work that blocks, done on a thread of its own; what comes of it is told on the loop. One at a time.
template <class T>
class away {
 public:
  using handler = unique_function<void(T)>;

  away() = default;
  away(const away&) = delete;
  away& operator=(const away&) = delete;
  ~away() { cancel(); }

  /// `work` is given a flag that says when nobody waits any more, and returns a T. `done` is called on the loop, unless
  /// cancelled before.
  template <class Work>
  void start(const char* thread, reactor& loop, Work work, handler done) {
    expect(loop, std::move(done));
    runtime::start_thread(thread, [sent = errand_, work = std::move(work)] {
      deliver(sent, work(sent->cancelled));
    }).detach();
  }
  /// For what needs no work after all.
  void answer(reactor& loop, T what, handler done) {
    expect(loop, std::move(done));
    deliver(errand_, std::move(what));
  }
  void cancel() noexcept {
    if (!errand_) return;
    errand_->cancelled.store(true);
    const std::lock_guard lock(errand_->mutex);
    errand_->loop = nullptr;
    errand_->done = {};
  }

 private:
  /// Outlives whoever sent it: a system call cannot be interrupted.
  struct errand {
    std::atomic<bool> cancelled{false};
    std::mutex mutex;
    reactor* loop = nullptr;  // unset: nobody waits any more
    handler done;
  };

  void expect(reactor& loop, handler done) {
    errand_ = std::make_shared<errand>();
    errand_->loop = &loop;
    errand_->done = std::move(done);
  }
  static void deliver(const std::shared_ptr<errand>& to, T what) {
    auto kept = std::make_unique<T>(std::move(what));
    const std::lock_guard lock(to->mutex);
    if (to->loop == nullptr) return;
    to->loop->post([to, kept = std::move(kept)] {
      handler call;
      {
        const std::lock_guard again(to->mutex);
        if (to->loop == nullptr) return;
        call = std::move(to->done);
        to->loop = nullptr;
      }
      call(std::move(*kept));
    });
  }

  std::shared_ptr<errand> errand_;
};

}  // namespace interlock::inline v1::net
