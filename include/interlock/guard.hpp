// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/info.hpp>
#include <interlock/pending.hpp>
#include <interlock/result.hpp>
#include <interlock/token.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace interlock::inline v1 {

namespace detail {
class hold;
}

/// A lock being held. Keeps its client alive.
///
/// Movable, not copyable. A moved-from or released guard holds nothing and is safe to destroy. The const members may be
/// called from any thread; release, upgrade, downgrade, move and destruction from one at a time. The lock belongs to no
/// thread: any thread may release it.
///
/// | state    | release()        | destructor               | lease ends or link breaks |
/// |----------|------------------|--------------------------|---------------------------|
/// | held     | released         | queues the release       | jeopardy, then lost       |
/// | jeopardy | released, or why | queues the release       | lost, lost() fires        |
/// | lost     | reports lost     | tidies up                | -                         |
/// | released | does nothing     | nothing                  | -                         |
///
/// No operator bool: an optional or a result around it already has one, and they would mean different things.
class [[nodiscard]] guard {
 public:
  guard() noexcept = default;
  guard(guard&& other) noexcept : hold_(std::move(other.hold_)), released_(std::exchange(other.released_, false)) {}
  guard& operator=(guard&& other) noexcept;  // lets go of what it held
  /// Queues the release and does not wait for the store's answer; what goes wrong is told to the observer. Within one
  /// client nothing overtakes it; another client may see the lock taken until it arrives.
  ~guard();

  /// Asks the clock, not a flag: right on the first call after a stall, a suspend, a SIGSTOP.
  [[nodiscard]] bool valid() const noexcept;
  /// Until we would call it lost; 0 when not valid.
  [[nodiscard]] milliseconds remaining() const noexcept;
  [[nodiscard]] lock_state state() const noexcept;
  /// One line at the top of each step of a long job: throws lock_error(lost).
  void throw_if_lost() const;
  /// Fires on loss, never on release. Its callbacks run where all callbacks of the client run.
  [[nodiscard]] std::stop_token lost() const noexcept;
  [[nodiscard]] loss_reason why_lost() const noexcept;
  /// Jeopardy, recovery and loss, in order.
  [[nodiscard]] subscription on_change(std::function<void(lock_state)> call) const;

  /// Also after loss and release. An empty guard throws invalid_argument.
  [[nodiscard]] fencing_token token() const;
  /// Name, mode and token in one string, for client::check on another host. Once asked for, this grant is not passed on
  /// inside the process: the store itself sees it end, so that check() is exact.
  [[nodiscard]] std::string sequencer() const;
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] claim_id id() const noexcept;
  [[nodiscard]] lock_mode mode() const noexcept;

  /// Shared to exclusive, without letting go. Unset wait: only if nobody else reads now, else busy. With a wait: new
  /// readers queue behind us until the present ones have gone. A second upgrader gets deadlock at once.
  result<void> upgrade(std::optional<milliseconds> wait = {}, std::stop_token stop = {});
  /// Exclusive to shared without a gap; waiting readers are woken.
  result<void> downgrade();
  /// Waits for the store's word: released, lost, or don't know (indeterminate: it is undone in the background).
  result<void> release() noexcept;
  pending<void> async_release();

 private:
  friend class detail::hold;
  explicit guard(std::shared_ptr<detail::hold> held) noexcept : hold_(std::move(held)) {}
  std::shared_ptr<detail::hold> hold_;
  bool released_ = false;  // this guard's share of it; the token stays readable
};

}  // namespace interlock::inline v1
