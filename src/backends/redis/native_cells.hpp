// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/cell_channels.hpp"

#include <interlock/cells.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace interlock::inline v1::redis_store::native {

/// Where a name's cell is: beside the keys of its claims, `ilk1:{orders/42}:v`. Its changes are told on a channel
/// without braces, so that in a cluster it is not a sharded one.
std::string cell_key(std::string_view name);
std::string cell_channel(std::string_view name);
/// What stands at that key; nothing if it is no cell.
std::optional<cell> read_cell(std::string_view bytes);

class cells final : public cell_store {
 public:
  explicit cells(courier& way) noexcept : way_(way), channels_(way) {}

  [[nodiscard]] const cell_limits& limits() const noexcept override;
  void read(std::string_view name, completion<cell> done) override;
  void write_if(const cell_write& what, completion<version> done) override;
  subscription watch(std::string_view name, std::function<void()> changed) override;
  void message(std::string_view channel) noexcept { channels_.message(channel); }

 private:
  courier& way_;
  cell_channels channels_;
};

}  // namespace interlock::inline v1::redis_store::native
