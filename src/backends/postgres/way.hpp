// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/connection.hpp"
#include "core/random.hpp"
#include "net/loan.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace interlock::inline v1::postgres_store {

/// A connection that is made anew when it breaks.
class way final : public connection::owner, public std::enable_shared_from_this<way> {
 public:
  way(const backend_environment& environment, postgres_settings settings, std::string channel, std::string origin,
      std::function<void(std::string_view)> notified);

  /// The first connection; waits for it.
  result<void> open();
  /// From now on a server that promises less is not connected to.
  void insist_on_strict() noexcept { strict_.store(true); }
  [[nodiscard]] server_facts facts() const;

  void send(const std::shared_ptr<errand>& what, inline_work here);
  void close() noexcept;

  void flush() noexcept;
  [[nodiscard]] int borrow_news() noexcept {
    return loan_.begin([this] { return current(); });
  }
  [[nodiscard]] bool read_news() noexcept { return loan_->read_borrowed(); }
  [[nodiscard]] backend::arrival await_news() noexcept { return loan_->await_borrowed(); }
  void return_news(backend::loan_end as) noexcept { loan_.end(as); }

 private:
  using pointer = std::shared_ptr<connection>;

  void down(connection& which, const failure& why) noexcept override;
  void notified(std::string_view news) noexcept override { notified_(news); }
  void connect();
  void dialled(result<established> made);
  void connect_later() noexcept;
  [[nodiscard]] pointer current() const;

  reactor& loop_;
  const time_source& time_;
  backend_events& events_;
  const postgres_settings settings_;
  const std::string channel_, origin_;
  const std::function<void(std::string_view)> notified_;
  std::atomic<bool> strict_{false};

  net::loan<connection> loan_;

  mutable std::mutex mutex_;  // everything below
  std::condition_variable first_;
  std::optional<result<void>> opened_;
  dial dial_;
  pointer talk_;
  server_facts facts_;
  unsigned attempts_ = 0;
  bool closed_ = false;
  core::kernel_random random_;
};

}  // namespace interlock::inline v1::postgres_store
