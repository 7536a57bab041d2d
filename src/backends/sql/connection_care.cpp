// SPDX-License-Identifier: MIT
#include "backends/sql/connection.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

/// Deadlines, callers that read for themselves, and the end.
namespace interlock::inline v1::sql {
namespace {

constexpr milliseconds attendance{5};  // a socket that callers read themselves is looked after this often
constexpr milliseconds retry_pause{3};

}  // namespace

connection::connection(std::unique_ptr<session> with, const place& at, reactor& loop, const time_source& time,
                       owner& of)
    : place_(at),
      loop_(loop),
      time_(time),
      owner_(of),
      with_(std::move(with)),
      socket_(::fcntl(with_->socket(), F_DUPFD_CLOEXEC, 0)) {}

connection::~connection() { ::close(socket_); }

failure connection::lost(std::string_view why) const {
  return failure(errc::unavailable,
                 place_.shown + ": " + (why.empty() ? "the server closed the connection" : std::string(why)));
}

void connection::start() {
  const std::lock_guard lock(mutex_);
  gate_.open(socket_, loop_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->turn();
  });
}

void connection::turn() noexcept {
  const std::lock_guard lock(reading_);
  {
    const std::lock_guard inner(mutex_);
    if (dead_) return;
    if (gate_.writes()) push();
    if (borrowed_) return;
  }
  read(patience::none);
}

// Long enough for the other transaction to end, and not the same for both.
void connection::pause(unsigned tries) {
  const auto spread = milliseconds(reinterpret_cast<std::uintptr_t>(this) / 64 % 5);
  loop_.call_at(time_.now() + retry_pause * tries + spread, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard lock(self->mutex_);
    self->paused_ = false;
    self->launch();
  });
}

// ---- callers that read for themselves

int connection::borrow() noexcept {
  const std::lock_guard lock(mutex_);
  if (borrowed_ || dead_) return -1;
  borrowed_ = busy_ = true;
  gate_.read(false);
  launch();  // it was about to be sent by somebody who has to be woken for it
  return socket_;
}

bool connection::read_borrowed() noexcept {
  const std::lock_guard lock(reading_);
  return read(patience::none) != backend::arrival::the_end;
}

// Where the session cannot wait, that is left to the caller: a system call more, but one that need not end in time. An
// answer that was read while the question was being sent is not announced by the socket.
backend::arrival connection::await_borrowed() noexcept {
  if (!at_hand_.load(std::memory_order_relaxed)) return backend::arrival::nothing;
  const std::lock_guard lock(reading_);
  return read(patience::some);
}

// Between the calls of a caller that always reads for itself, nobody needs to listen at once: opening and shutting the
// gate each time would cost it two system calls.
void connection::give_back(backend::loan_end as) noexcept {
  bool call = false;
  {
    const std::lock_guard lock(mutex_);
    borrowed_ = false;
    if (dead_) return;
    const bool later = as == backend::loan_end::back_soon || (as == backend::loan_end::quiet && !under_way_);
    if (!later) return gate_.read(true);
    call = !std::exchange(attending_, true);
  }
  if (call) attend();
}

void connection::attend() noexcept {
  loop_.call_at(time_.now() + attendance, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    bool on = true, left = false;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->dead_) return;
      on = std::exchange(self->busy_, false) || self->borrowed_;
      left = !self->borrowed_ && self->with_->answered();
      if (on) {
        self->gate_.rest();
      } else {
        self->attending_ = false;
        self->gate_.read(true);
      }
    }
    if (left) static_cast<void>(self->read_borrowed());
    if (on) self->attend();
  });
}

// ---- deadlines

// [mutex_] One timer, for the message that is under way.
void connection::watch_deadline() {
  const auto due = under_way_->sent + place_.timeout + milliseconds{1};
  if (deadline_at_ <= due) return;
  deadline_at_ = due;
  loop_.call_at(due, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->deadline();
  });
}

void connection::deadline() noexcept {
  {
    const std::lock_guard lock(mutex_);
    deadline_at_ = instant::max();
    if (dead_ || !under_way_) return;
    if (time_.now() < under_way_->sent + place_.timeout) return watch_deadline();
  }
  fail(lost("no answer within " + std::to_string(place_.timeout.count()) + " ms"));
}

// ---- the end

void connection::fail(const failure& why) noexcept {
  const auto self = shared_from_this();
  const std::lock_guard lock(reading_);
  drop(why, true);
}

void connection::close() noexcept {
  muted_.store(true);
  const auto self = shared_from_this();
  const std::lock_guard lock(reading_);
  drop(failure(errc::closed), false);
}

// [reading_]
void connection::drop(const failure& why, bool tell) noexcept {
  std::vector<parcel> sent;
  std::deque<parcel> unsent;
  subscription watch;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(dead_, true)) return;
    if (under_way_) sent = std::move(under_way_->parcels);
    under_way_.reset();
    unsent = std::exchange(waiting_, {});
    watch = gate_.end();
    with_.reset();  // says good-bye, if it can
    ::shutdown(socket_, SHUT_RDWR);
  }
  loop_.post([watch = std::move(watch)] {});  // ended there: here, its callback might be waiting for us
  if (!tell || muted_.load()) return;
  for (auto& one : sent) one.fail(failure(errc::indeterminate, why.message()));
  for (auto& one : unsent) one.fail(failure(errc::unavailable, why.message()));
  owner_.down(*this, why);
}

}  // namespace interlock::inline v1::sql
