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

/// What a way says that nobody asked for.
struct listener {
  std::function<void(std::string_view)> notified = [](std::string_view) {};
  std::function<void()> ended = [] {};  ///< the session is over, and the next one not begun
};

/// A connection that is made anew when it breaks.
class way final : public connection::owner, public std::enable_shared_from_this<way> {
 public:
  way(const backend_environment& environment, place at, std::shared_ptr<dialler> by, listener tells);

  /// The first connection; waits for it.
  result<void> open();

  void send(const std::shared_ptr<errand>& what, inline_work here);
  /// This session is not to be relied on: as if the server had ended it.
  void give_up(const failure& why) noexcept;
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
  void notified(std::string_view news) noexcept override { tells_.notified(news); }
  void connect();
  void dialled(result<dialler::made> made);
  void connect_later() noexcept;
  [[nodiscard]] pointer current() const;

  reactor& loop_;
  const time_source& time_;
  backend_events& events_;
  const place place_;
  const std::shared_ptr<dialler> dialler_;
  const listener tells_;

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
