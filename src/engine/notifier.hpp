// SPDX-License-Identifier: MIT
#pragma once

#include "engine/parker.hpp"

#include <interlock/detail/operation.hpp>
#include <interlock/options.hpp>

#include <cstdint>
#include <functional>
#include <memory>

namespace interlock::inline v1::runtime {

/// Runs user code: on the user's executor, or one after the other on a thread started when first needed. Never on the
/// engine's loop, so that a slow callback can delay other callbacks but never a renewal.
class notifier final : public detail::callback_place {
 public:
  /// What the thread does after it has worked and before it sleeps: true, it may have more to do, or may do it again.
  using pastime = std::function<bool(parker& mine, std::uint32_t ticket)>;

  explicit notifier(executor user, pastime between = {});
  ~notifier() override;
  notifier(const notifier&) = delete;
  notifier& operator=(const notifier&) = delete;

  using callback_place::post;
  void post(std::shared_ptr<detail::posted> work) noexcept override;
  [[nodiscard]] bool is_current() const noexcept override;
  /// This thread is running what was posted, and comes to its pastime afterwards.
  [[nodiscard]] bool is_working() const noexcept;
  /// Returns when everything posted so far has run.
  void drain();
  /// Runs what is queued, then ends the thread. On the notifier's own thread it does not wait.
  void stop() noexcept;
  /// This thread is the engine's own: is_current() says so, and blocking calls on it are refused.
  void adopt_current_thread() const noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace interlock::inline v1::runtime
