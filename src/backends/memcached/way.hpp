// SPDX-License-Identifier: MIT
#pragma once

#include "backends/memcached/connection.hpp"
#include "core/random.hpp"
#include "net/loan.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace interlock::inline v1::memcached_store {

/// A connection that is made anew when it breaks.
class way final : public connection::owner, public std::enable_shared_from_this<way> {
 public:
  using facts = std::map<std::string, std::string, std::less<>>;

  way(const backend_environment& environment, memcached_settings settings);

  /// The first connection; waits for it.
  result<void> open();
  /// What `stats` said when it was connected.
  [[nodiscard]] facts stats() const;

  void send(std::string_view commands, std::size_t count, inline_work here, replies_handler done);
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
  void connect();
  void dialled(result<established> made);
  void connect_later() noexcept;
  [[nodiscard]] pointer current() const;

  reactor& loop_;
  const time_source& time_;
  backend_events& events_;
  const memcached_settings settings_;

  net::loan<connection> loan_;

  mutable std::mutex mutex_;  // everything below
  std::condition_variable first_;
  std::optional<result<void>> opened_;
  dial dial_;
  pointer talk_;
  facts stats_;
  unsigned attempts_ = 0;
  bool closed_ = false;
  core::kernel_random random_;
};

}  // namespace interlock::inline v1::memcached_store
