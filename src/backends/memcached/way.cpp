// SPDX-License-Identifier: MIT
#include "backends/memcached/way.hpp"

#include "net/reconnect_pause.hpp"

#include <utility>

namespace interlock::inline v1::memcached_store {

way::way(const backend_environment& environment, memcached_settings settings)
    : loop_(environment.loop), time_(environment.time), events_(environment.events), settings_(std::move(settings)) {}

result<void> way::open() {
  connect();
  std::unique_lock lock(mutex_);
  first_.wait(lock, [&] { return opened_.has_value(); });
  return *opened_;
}

void way::connect() {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  dial_.start(settings_, loop_, [weak = weak_from_this()](result<established> made) {
    if (const auto self = weak.lock()) self->dialled(std::move(made));
  });
}

void way::dialled(result<established> made) {
  bool first = false, another = false;
  pointer next;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    first = !opened_;
    if (made) {
      another = !first && made->stats["pid"] != stats_["pid"];
      stats_ = made->stats;
      attempts_ = 0;
      next = talk_ = std::make_shared<connection>(std::move(*made), settings_, loop_, time_, *this);
      if (first) opened_.emplace();
    } else if (first) {
      const auto& why = made.error();
      opened_.emplace(failure(why.kind(), "memcached " + settings_.shown() + ": " + why.message()));
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

way::facts way::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void way::send(std::string_view commands, std::size_t count, inline_work here, replies_handler done) {
  if (const auto to = current()) return to->send(commands, count, here, std::move(done));
  done(failure(errc::unavailable, "memcached " + settings_.shown() + ": not connected"));
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
    dial_.cancel();
  }
  if (last) last->close();
}

}  // namespace interlock::inline v1::memcached_store
