// SPDX-License-Identifier: MIT
#pragma once

#include "engine/block_pool.hpp"
#include "engine/engine.hpp"

#include <interlock/guard.hpp>

#include <memory>
#include <optional>
#include <stop_token>

/// The async_ twins: a request of the engine that is an operation of the caller.
namespace interlock::inline v1::api {

inline guard guard_of(runtime::hold_ptr held) { return detail::hold::make_guard(std::move(held)); }

template <class T>
class engine_operation final : public runtime::request, public detail::operation<T> {
 public:
  /// It keeps the client alive until the outcome is there; a guard in that does so from then on.
  explicit engine_operation(std::shared_ptr<detail::client_handle> from)
      : detail::operation<T>(*from->engine().calls()), engine_(from->engine()) {
    client = std::move(from);
  }
  engine_operation(const engine_operation&) = delete;
  engine_operation& operator=(const engine_operation&) = delete;
  /// A grant that nobody took is let go as a guard would: the lock may be held by others of its owner, too.
  ~engine_operation() override {
    if (outcome && *outcome && **outcome) static_cast<void>(guard_of(std::move(**outcome)));
  }

  void announce(std::shared_ptr<runtime::request> kept) noexcept override {
    this->publish(kept ? std::shared_ptr<detail::operation_base>(std::move(kept), this) : nullptr);
  }
  result<T> take() override {
    auto got = std::move(*outcome);
    outcome.reset();
    return outcome_of(got);
  }
  void refuse(const failure& why) noexcept {
    outcome.emplace(why);
    announce({});
  }
  /// After it was begun. Only the destructor ends it: the callback may be running right now.
  void listen(const std::stop_token& stop, const std::shared_ptr<detail::client_handle>& from) {
    if (stop.stop_possible() && !this->ready()) listening_.emplace(stop, on_stop{this, from});
  }
  void cancel() noexcept override { engine_.cancel(*this, failure(errc::cancelled, "cancelled by the caller")); }

 private:
  static result<T> outcome_of(result<runtime::hold_ptr>& got) noexcept {
    if constexpr (std::is_void_v<T>)
      return got ? result<void>() : result<void>(got.error());
    else if constexpr (std::is_same_v<T, std::optional<guard>>)
      return got                         ? result<T>(guard_of(std::move(*got)))
             : got.error() == errc::busy ? result<T>(std::nullopt)
                                         : result<T>(got.error());
    else
      return got ? result<T>(guard_of(std::move(*got))) : result<T>(got.error());
  }

  struct on_stop {
    engine_operation* self;
    std::shared_ptr<detail::client_handle> client;  // may be asked to stop after the outcome was taken
    void operator()() const noexcept {
      const auto kept = client;  // the operation may end in here
      self->cancel();
    }
  };
  runtime::engine& engine_;
  std::optional<std::stop_callback<on_stop>> listening_;
};

template <class T>
std::shared_ptr<engine_operation<T>> make_operation(const std::shared_ptr<detail::client_handle>& client) {
  using made = engine_operation<T>;
  return std::allocate_shared<made>(runtime::pool_allocator<made>{}, client);
}

}  // namespace interlock::inline v1::api
