// SPDX-License-Identifier: MIT
#pragma once

#include "core/cell_record.hpp"
#include "core/cell_watchers.hpp"

#include <interlock/cells.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace interlock::inline v1::memory_store {

/// The cells of one memory store, for any number of clients.
class memory_cells final : public cell_store {
 public:
  explicit memory_cells(const time_source& time) noexcept : time_(time) {}

  [[nodiscard]] const cell_limits& limits() const noexcept override { return limits_; }
  void read(std::string_view name, completion<cell> done) override;
  void write_if(const cell_write& what, completion<version> done) override;
  subscription watch(std::string_view name, std::function<void()> changed) override;

 private:
  struct kept_cell {
    core::cell_record record{};
    instant ends = instant::max();
  };
  void forget_ended(instant now);

  const time_source& time_;
  const cell_limits limits_{.counts_only = false, .push = true};
  core::cell_watchers watchers_;
  std::mutex mutex_;
  std::map<std::string, kept_cell, std::less<>> cells_;
  std::uint64_t last_ = 0;  // of all versions: what is forgotten needs no trace
  std::size_t touched_ = 0;
};

}  // namespace interlock::inline v1::memory_store
