// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/cell_channels.hpp"

#include <interlock/cells.hpp>

#include <string>
#include <string_view>

namespace interlock::inline v1::redis_store::redisson {

/// Redisson's RCountDownLatch as a cell: the count is the value and the version. What is not there is open.
class latches final : public cell_store {
 public:
  explicit latches(courier& way) noexcept : way_(way), channels_(way) {}

  [[nodiscard]] const cell_limits& limits() const noexcept override;
  void read(std::string_view name, completion<cell> done) override;
  void write_if(const cell_write& what, completion<version> done) override;
  subscription watch(std::string_view name, std::function<void()> changed) override;

  /// The courier has come up.
  void begin();
  void message(std::string_view channel) noexcept { channels_.message(channel); }

 private:
  [[nodiscard]] result<void> check(std::string_view name) const;

  courier& way_;
  cell_channels channels_;
  bool clustered_ = false, both_ways_ = false;  // as in layout
};

}  // namespace interlock::inline v1::redis_store::redisson
