// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <functional>
#include <memory>

namespace interlock::inline v1::runtime {

/// The engine's one thread: timers, sockets, short work. A test's loop has no thread and is turned by hand.
class loop : public reactor {
 public:
  /// From now on `tick` is called when wake_at's instant has come.
  virtual void start(std::function<void()> tick, std::function<void()> on_thread_start) = 0;
  /// Calls tick no later than this; an earlier request stands. Any thread.
  virtual void wake_at(instant when) noexcept = 0;
  /// After this returned, tick is not running and never runs again.
  virtual void stop() noexcept = 0;
};

std::unique_ptr<loop> make_asio_loop();

}  // namespace interlock::inline v1::runtime
