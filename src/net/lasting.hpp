// SPDX-License-Identifier: MIT
#pragma once

#include "core/brief_mutex.hpp"
#include "core/random.hpp"
#include "net/away.hpp"
#include "net/loan.hpp"
#include "net/reconnect_pause.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace interlock::inline v1::net {

/// A connection that is made anew when it breaks. A `Dialled` is what dialling brings, on a thread of its own, because
/// host names and client libraries block; a `Connection` is made of it, starts, and tells its owner of its end.
template <class Connection, class Dialled>
class lasting : public Connection::owner, public std::enable_shared_from_this<lasting<Connection, Dialled>> {
 public:
  lasting(const lasting&) = delete;
  lasting& operator=(const lasting&) = delete;

  /// The first connection; waits for it.
  result<void> open() {
    connect();
    std::unique_lock lock(mutex_);
    first_.wait(lock, [&] { return opened_.has_value(); });
    return *opened_;
  }
  void close() noexcept {
    pointer last;
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(closed_, true)) return;
      last = std::exchange(talk_, nullptr);
      away_.cancel();
    }
    if (last) last->close();
  }

  void flush() noexcept {
    if (const auto to = current()) to->flush_left();
  }
  [[nodiscard]] int borrow_news() noexcept {
    return loan_.begin([this] { return current(); });
  }
  [[nodiscard]] bool read_news() noexcept { return loan_->read_borrowed(); }
  [[nodiscard]] backend::arrival await_news() noexcept { return loan_->await_borrowed(); }
  void return_news(backend::loan_end as) noexcept { loan_.end(as); }

 protected:
  using pointer = std::shared_ptr<Connection>;
  using dialling = std::function<result<Dialled>(const std::atomic<bool>& cancelled)>;

  /// `shown`: the server, as messages call it. `dial` is called for one connection at a time, the last one being over.
  lasting(const backend_environment& environment, std::string shown, dialling dial)
      : loop_(environment.loop),
        time_(environment.time),
        shown_(std::move(shown)),
        events_(environment.events),
        dial_(std::move(dial)) {}
  ~lasting() = default;

  [[nodiscard]] pointer current() const {
    const std::lock_guard lock(mutex_);
    return talk_;
  }
  [[nodiscard]] failure not_connected() const { return failure(errc::unavailable, shown_ + ": not connected"); }

 private:
  /// What changes with every restart of the server, and with the host.
  virtual std::string run_of(const Dialled& made) const = 0;
  /// Called with a mutex held; it is not started yet.
  virtual pointer connected(Dialled made, reactor& loop, const time_source& time) = 0;
  /// The connection is over, and the next one not begun.
  virtual void ended() noexcept {}

  void down(Connection& which, const failure&) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || talk_.get() != &which) return;
      talk_ = nullptr;
    }
    ended();
    events_.link(false);
    connect_later();
  }
  void connect() {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    away_.start("interlock-dial", loop_, dial_, [weak = this->weak_from_this()](result<Dialled> made) {
      if (const auto self = weak.lock()) self->dialled(std::move(made));
    });
  }
  void dialled(result<Dialled> made) {
    bool first = false, another = false;
    pointer next;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      first = !opened_;
      if (made) {
        auto run = run_of(*made);
        another = !first && run != run_;
        run_ = std::move(run);
        attempts_ = 0;
        next = talk_ = connected(std::move(*made), loop_, time_);
        if (first) opened_.emplace();
      } else if (first) {
        const auto& why = made.error();
        opened_.emplace(failure(why.kind(), shown_ + ": " + why.message()));
      }
    }
    if (next) next->start();
    if (first) return first_.notify_all();
    if (!made) return connect_later();
    if (another) events_.another_server();
    events_.link(true);
  }
  void connect_later() noexcept {
    milliseconds pause{};
    {
      const std::lock_guard lock(mutex_);
      pause = reconnect_pause(attempts_++, random_.fraction());
    }
    loop_.call_at(time_.now() + pause, [weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->connect();
    });
  }

  reactor& loop_;
  const time_source& time_;
  const std::string shown_;
  backend_events& events_;
  const dialling dial_;
  loan<Connection> loan_;

  mutable core::brief_mutex mutex_;  // everything below
  std::condition_variable_any first_;
  std::optional<result<void>> opened_;
  away<result<Dialled>> away_;
  pointer talk_;
  std::string run_;
  unsigned attempts_ = 0;
  bool closed_ = false;
  core::kernel_random random_;
};

}  // namespace interlock::inline v1::net
