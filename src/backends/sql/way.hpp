// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/connection.hpp"

#include "net/lasting.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

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

/// To one database, by sessions.
class way final : public net::lasting<connection, dialler::made> {
 public:
  way(const backend_environment& environment, place at, std::shared_ptr<dialler> by, listener tells);

  void send(std::shared_ptr<errand> what, inline_work here);
  /// This session is not to be relied on: as if the server had ended it.
  void give_up(const failure& why) noexcept;

 private:
  std::string run_of(const dialler::made& made) const override { return made.run; }
  pointer connected(dialler::made made, reactor& loop, const time_source& time) override;
  void ended() noexcept override { tells_.ended(); }
  void notified(std::string_view news) noexcept override { tells_.notified(news); }

  const place place_;
  const listener tells_;
};

}  // namespace interlock::inline v1::sql
