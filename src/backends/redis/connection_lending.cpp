// SPDX-License-Identifier: MIT
#include "backends/redis/connection.hpp"

#include <sys/epoll.h>

#include <utility>

/// A connection in the hands of a caller that reads for itself, and the looks after it between two of its calls.
namespace interlock::inline v1::redis_store {
namespace {

constexpr milliseconds attendance{5};  // a socket that callers read themselves is looked after this often

}  // namespace

int connection::borrow_locked() noexcept {
  if (borrowed_ || !is_up()) return -1;
  borrowed_ = busy_ = true;
  watch_in(watched_ & ~unsigned{EPOLLIN});
  if (out_.unsent_size() > 0) flush_locked();  // it was about to be sent by somebody who has to be woken for it
  return socket_;
}

// Between the calls of a caller that always reads for itself, nobody needs to listen at once: opening and shutting the
// gate each time would cost it two system calls.
void connection::give_back(backend::loan_end as) noexcept {
  bool call = false;
  {
    const std::lock_guard lock(mutex_);
    borrowed_ = false;
    const bool later = as == backend::loan_end::back_soon || (as == backend::loan_end::quiet && out_.empty());
    if (!later || !is_up()) return watch_in(watched_ | EPOLLIN);
    call = !std::exchange(attending_, true);
  }
  if (call) attend();
}

void connection::attend() noexcept {
  loop_.call_at(time_.now() + attendance, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->state_.load() == state::dead) return;
      const bool over = !std::exchange(self->busy_, false) && !self->borrowed_;
      if (self->left_ && (over || self->time_.now() - self->out_.back().sent >= unsent_most)) self->flush_and_listen();
      if (over) {
        self->attending_ = false;
        return self->watch_in(self->watched_ | EPOLLIN);
      }
      self->leave_gate();
    }
    self->attend();
  });
}

// [mutex_] Shut, and likely to stay so: the kernel is spared looking there whenever something arrives.
void connection::leave_gate() noexcept {
  if (watched_ != 0 || !std::exchange(in_gate_, false)) return;
  ::epoll_ctl(gate_, EPOLL_CTL_DEL, socket_, nullptr);
}

}  // namespace interlock::inline v1::redis_store
