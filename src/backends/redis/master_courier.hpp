// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/connection.hpp"
#include "backends/redis/courier.hpp"
#include "backends/redis/layout.hpp"
#include "backends/redis/locator.hpp"
#include "backends/redis/subscriptions.hpp"

#include "core/brief_mutex.hpp"
#include "core/random.hpp"
#include "net/loan.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

namespace interlock::inline v1::redis_store {

/// All keys are on one master: a single server, or the one that sentinels point to. Connects again, and again, with
/// growing pauses, until it is closed.
class master_courier final : public courier,
                             public connection::owner,
                             public std::enable_shared_from_this<master_courier> {
 public:
  master_courier(const backend_environment& environment, connection_settings settings, std::unique_ptr<locator> where);

  /// In place of open(): begins to connect and waits for nothing. What fails is tried again, from the first time on;
  /// link(true) tells that it is up.
  void start();
  /// Why the last attempt to connect failed; nothing once one did not.
  [[nodiscard]] std::optional<failure> trouble() const;
  /// For the borrower, while there is one: what it was lent.
  [[nodiscard]] const std::shared_ptr<connection>& lent() const noexcept { return loan_.lent(); }

  // courier
  result<void> open() override;
  void deliver_to(layout& reader) noexcept override { layout_.store(&reader); }
  void send(const packet& what, inline_work here, reply_handler&& done) override { pass_on(what, here, done); }
  void send_short(const short_call& what, inline_work here, reply_handler&& done) override {
    pass_on(what, here, done);
  }
  [[nodiscard]] std::size_t masters() const override { return 1; }
  void send_to(std::size_t, const packet& what, reply_handler done) override {
    send(what, inline_work::never, std::move(done));
  }
  void subscribe(std::string_view channel, reply_handler done) override;
  void unsubscribe(std::string_view channel) override;
  [[nodiscard]] server_facts facts() const override;
  [[nodiscard]] std::optional<milliseconds> fetches_answers() const noexcept override { return settings_.timeout; }
  void flush() noexcept override;
  [[nodiscard]] int borrow_news() noexcept override;
  [[nodiscard]] bool read_news() noexcept override { return loan_->read_borrowed(); }
  [[nodiscard]] backend::arrival await_news() noexcept override { return loan_->await_borrowed(); }
  void return_news(backend::loan_end as) noexcept override { loan_.end(as); }
  void close() noexcept override;

  // connection::owner
  void up(connection& which, const server_facts& found) noexcept override;
  void down(connection& which, const failure& why) noexcept override;
  void pushed(connection& which, reply what) noexcept override;
  bool refused(connection& which, const refusal& what, reply_handler& done) noexcept override;
  void answers_begin() noexcept override { events_.answers_begin(); }
  void answers_end() noexcept override { events_.answers_end(); }

 private:
  using pointer = std::shared_ptr<connection>;

  template <class What>
  void pass_on(const What& what, inline_work here, reply_handler& done);
  void connect();
  void found(const result<endpoint>& where);
  void connect_later() noexcept;
  void attempt_over(const failure& why) noexcept;
  void listen(connection& on);
  [[nodiscard]] pointer current() const;
  [[nodiscard]] failure not_connected() const;
  [[nodiscard]] pointer ears() const;

  reactor& loop_;
  const time_source& time_;
  backend_events& events_;
  const connection_settings settings_;
  std::unique_ptr<locator> locator_;
  std::atomic<layout*> layout_{nullptr};
  net::loan<connection> loan_;

  const std::shared_ptr<core::brief_mutex> kept_mutex_ = std::make_shared<core::brief_mutex>();
  core::brief_mutex& mutex_ = *kept_mutex_;  // everything below; it is the connections' as well
  std::condition_variable_any first_;
  std::optional<result<void>> opened_;  // how the first attempt ended
  pointer talk_;                        // requests
  pointer listen_;                      // messages, where talk_ cannot bring them too (RESP2)
  subscriptions channels_;
  server_facts facts_;
  connection::forerunners forerunners_;
  endpoint where_;
  unsigned attempts_ = 0;
  std::optional<failure> trouble_;
  bool patient_ = false;  // start()
  bool was_up_ = false;
  bool closed_ = false;
  core::kernel_random random_;
};

template <class What>
void master_courier::pass_on(const What& what, inline_work here, reply_handler& done) {
  pointer to;
  std::optional<connection::afterwards> next;
  {
    const std::lock_guard lock(mutex_);
    if (talk_) next = talk_->accept_locked(what, here, done);
    if (next == connection::afterwards::nothing) return;
    if (next) to = talk_;
  }
  to ? to->then(*next) : done(not_connected());
}

}  // namespace interlock::inline v1::redis_store
