// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/cells.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace interlock::inline v1::core {

/// One cell by the rules that every store follows: native_cell_write.lua says the same in its own words.
struct cell_record {
  struct entry {
    claim_secret mark{};
    std::uint64_t made = 0;  ///< the version that change made
  };
  std::uint64_t last = 0;  ///< version of the last change, removals included
  bool there = false;
  std::string value{};
  std::vector<entry> log{};  ///< the last changes, oldest first

  [[nodiscard]] cell shown() const { return there ? cell{value, {last}} : cell{}; }
  /// `floor`: above all versions this cell can have had before it was forgotten.
  result<version> change(const cell_write& how, std::uint64_t floor);
};

}  // namespace interlock::inline v1::core
