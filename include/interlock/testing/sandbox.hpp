// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/client.hpp>

#include <memory>
#include <string_view>

namespace interlock::inline v1::testing {

/// A store in memory and a clock moved by hand, for testing code that *uses* locks. No sleeping, no server.
///
/// A blocking call that only time could end would hang a test's own thread: start it with async_acquire, advance, get.
class sandbox {
 public:
  sandbox();
  sandbox(const sandbox&) = delete;
  sandbox& operator=(const sandbox&) = delete;
  ~sandbox();

  /// Each one is another host.
  client connect(client_options options = {});
  /// On return every timer due has fired and been announced: stop tokens, on_change, callbacks.
  void advance(milliseconds by);
  /// Packets of this client vanish, both ways; packets flow again.
  void cut(const client& which);
  void heal(const client& which);
  /// Removes every holder of the name behind everybody's back, as an administrator would.
  void break_lock(std::string_view name);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace interlock::inline v1::testing
