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
  engine_operation(std::shared_ptr<detail::client_handle> handle, const std::shared_ptr<runtime::notifier>& calls)
      : detail::operation<T>(calls), handle_(std::move(handle)) {}

  void announce() noexcept override {
    auto got = std::move(*outcome);
    outcome.reset();
    if constexpr (std::is_void_v<T>) {
      this->finish(got ? result<void>() : result<void>(got.error()));
    } else if constexpr (std::is_same_v<T, std::optional<guard>>) {
      if (got)
        this->finish(std::optional<guard>(guard_of(std::move(*got))));
      else if (got.error() == errc::busy)
        this->finish(std::optional<guard>());
      else
        this->finish(got.error());
    } else {
      this->finish(got ? result<T>(guard_of(std::move(*got))) : result<T>(got.error()));
    }
  }
  void refuse(const failure& why) noexcept {
    outcome.emplace(why);
    announce();
  }
  /// After it was begun. Only the destructor ends it: the callback may be running right now.
  void listen(const std::stop_token& stop) {
    if (stop.stop_possible() && !this->ready()) listening_.emplace(stop, on_stop{this});
  }
  void cancel() noexcept override {
    handle_->engine().cancel(*this, failure(errc::cancelled, "cancelled by the caller"));
  }

 private:
  struct on_stop {
    engine_operation* self;
    void operator()() const noexcept { self->cancel(); }
  };
  std::shared_ptr<detail::client_handle> handle_;
  std::optional<std::stop_callback<on_stop>> listening_;
};

template <class T>
std::shared_ptr<engine_operation<T>> make_operation(const std::shared_ptr<detail::client_handle>& handle,
                                                    const std::shared_ptr<runtime::notifier>& calls) {
  using made = engine_operation<T>;
  return std::allocate_shared<made>(runtime::pool_allocator<made>{}, handle, calls);
}

}  // namespace interlock::inline v1::api
