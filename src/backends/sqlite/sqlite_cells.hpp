// SPDX-License-Identifier: MIT
#pragma once

#include "core/cell_watchers.hpp"

#include <interlock/cells.hpp>

#include <functional>
#include <string_view>

namespace interlock::inline v1::sqlite_store {

class store;

/// The store's cells. A change is told to every process that listens at all: there are few changes, and a list of who
/// waits for which cell would have to be written down and kept clean.
class cells final : public cell_store {
 public:
  explicit cells(store& of) noexcept : store_(of) {}

  [[nodiscard]] const cell_limits& limits() const noexcept override;
  void read(std::string_view name, completion<cell> done) override;
  void write_if(const cell_write& what, completion<version> done) override;
  subscription watch(std::string_view name, std::function<void()> changed) override;

  /// Another process has changed the cell with this key.
  void told(const claim_secret& key) noexcept;
  /// What a cell is called in such news.
  static claim_secret key_of(std::string_view name) noexcept;

 private:
  store& store_;
  core::cell_watchers watchers_;
};

}  // namespace interlock::inline v1::sqlite_store
