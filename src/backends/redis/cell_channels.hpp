// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/courier.hpp"
#include "core/cell_watchers.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

namespace interlock::inline v1::redis_store {

/// The channels on which changes of cells are told, and who listens to which.
class cell_channels {
 public:
  explicit cell_channels(courier& way) noexcept : way_(way) {}

  subscription watch(const std::string& channel, std::function<void()> changed) {
    auto out = watchers_.add(channel, std::move(changed), [this, channel] { way_.unsubscribe(channel); });
    way_.subscribe(channel, [this, channel](const result<reply>& said) {
      if (!said && said.error() == errc::denied) deaf_ = true;
      watchers_.tell(channel);  // what was published before this was not heard
    });
    return out;
  }
  void message(std::string_view channel) noexcept { watchers_.tell(channel); }
  /// Not allowed to listen.
  [[nodiscard]] bool deaf() const noexcept { return deaf_; }

 private:
  courier& way_;
  core::cell_watchers watchers_;
  std::atomic<bool> deaf_{false};
};

}  // namespace interlock::inline v1::redis_store
