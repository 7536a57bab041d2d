// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/connection.hpp"
#include "core/random.hpp"
#include "net/away.hpp"
#include "net/loan.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace interlock::inline v1::sql {

/// Makes sessions, up to the point where what follows is one message each.
class dialler {
 public:
  struct made {
    std::unique_ptr<session> with{};
    std::string run{};  ///< changes with every restart of the server, and with the host
  };

  virtual ~dialler() = default;
  /// Blocks, on a thread of its own: client libraries look names up. One at a time; the last one's connection has
  /// broken.
  virtual result<made> dial(const std::atomic<bool>& cancelled) = 0;
};

/// A connection that is made anew when it breaks.
class way final : public connection::owner, public std::enable_shared_from_this<way> {
 public:
  way(const backend_environment& environment, place at, std::shared_ptr<dialler> by,
      std::function<void(std::string_view)> notified);

  /// The first connection; waits for it.
  result<void> open();

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
  void dialled(result<dialler::made> made);
  void connect_later() noexcept;
  [[nodiscard]] pointer current() const;

  reactor& loop_;
  const time_source& time_;
  backend_events& events_;
  const place place_;
  const std::shared_ptr<dialler> dialler_;
  const std::function<void(std::string_view)> notified_;

  net::loan<connection> loan_;

  mutable std::mutex mutex_;  // everything below
  std::condition_variable first_;
  std::optional<result<void>> opened_;
  net::away<result<dialler::made>> away_;
  pointer talk_;
  std::string run_;
  unsigned attempts_ = 0;
  bool closed_ = false;
  core::kernel_random random_;
};

}  // namespace interlock::inline v1::sql
