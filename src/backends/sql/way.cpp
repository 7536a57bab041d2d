// SPDX-License-Identifier: MIT
#include "backends/sql/way.hpp"

#include "net/reconnect_pause.hpp"

#include <utility>

namespace interlock::inline v1::sql {

way::way(const backend_environment& environment, place at, std::shared_ptr<dialler> by, listener tells)
    : loop_(environment.loop),
      time_(environment.time),
      events_(environment.events),
      place_(std::move(at)),
      dialler_(std::move(by)),
      tells_(std::move(tells)) {}

result<void> way::open() {
  connect();
  std::unique_lock lock(mutex_);
  first_.wait(lock, [&] { return opened_.has_value(); });
  return *opened_;
}

void way::connect() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  away_.start(
      "interlock-dial", loop_, [by = dialler_](const std::atomic<bool>& cancelled) { return by->dial(cancelled); },
      [weak = weak_from_this()](result<dialler::made> made) {
        if (const auto self = weak.lock()) self->dialled(std::move(made));
      });
}

void way::dialled(result<dialler::made> made) {
  bool first = false, another = false;
  pointer next;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    first = !opened_;
    if (made) {
      another = !first && made->run != run_;
      run_ = std::move(made->run);
      attempts_ = 0;
      next = talk_ = std::make_shared<connection>(std::move(made->with), place_, loop_, time_, *this);
      if (first) opened_.emplace();
    } else if (first) {
      const auto& why = made.error();
      opened_.emplace(failure(why.kind(), place_.shown + ": " + why.message()));
    }
  }
  if (next) next->start();
  if (first) return first_.notify_all();
  if (!made) return connect_later();
  if (another) events_.another_server();
  events_.link(true);
}

void way::down(connection& which, const failure&) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || talk_.get() != &which) return;
    talk_ = nullptr;
  }
  tells_.ended();
  events_.link(false);
  connect_later();
}

void way::connect_later() noexcept {
  milliseconds pause{};
  {
    const std::lock_guard lock(mutex_);
    pause = net::reconnect_pause(attempts_++, random_.fraction());
  }
  loop_.call_at(time_.now() + pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->connect();
  });
}

way::pointer way::current() const {
  const std::lock_guard lock(mutex_);
  return talk_;
}

void way::send(const std::shared_ptr<errand>& what, inline_work here) {
  if (const auto to = current()) return to->submit(what, here);
  whole(what).fail(failure(errc::unavailable, place_.shown + ": not connected"));
}

void way::give_up(const failure& why) noexcept {
  if (const auto to = current()) to->fail(why);
}

void way::flush() noexcept {
  if (const auto to = current()) to->flush_left();
}

void way::close() noexcept {
  pointer last;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    last = std::exchange(talk_, nullptr);
    away_.cancel();
  }
  if (last) last->close();
}

}  // namespace interlock::inline v1::sql
