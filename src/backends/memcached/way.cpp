// SPDX-License-Identifier: MIT
#include "backends/memcached/way.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::memcached_store {
namespace {

constexpr milliseconds first_pause{10};
constexpr milliseconds longest_pause{1'000};

}  // namespace

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
    const auto base = std::min(first_pause * (1 << std::min(attempts_, 7U)), longest_pause);
    ++attempts_;
    pause = std::chrono::duration_cast<milliseconds>(base * (0.5 + random_.fraction()));
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

int way::borrow_news() noexcept {
  if (is_lent_.exchange(true, std::memory_order_acquire)) return -1;
  lent_ = current();
  const int fd = lent_ ? lent_->borrow() : -1;
  if (fd < 0) {
    lent_ = nullptr;
    is_lent_.store(false, std::memory_order_release);
  }
  return fd;
}

void way::return_news(backend::loan_end as) noexcept {
  lent_->give_back(as);
  lent_ = nullptr;
  is_lent_.store(false, std::memory_order_release);
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
