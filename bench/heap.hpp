// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace bench {

/// Counts what malloc and its family do in this process, on every thread, between construction and destruction. One at
/// a time. Outside, they cost one load more than without.
class heap_watch {
 public:
  heap_watch();
  heap_watch(const heap_watch&) = delete;
  heap_watch& operator=(const heap_watch&) = delete;
  ~heap_watch();

  [[nodiscard]] std::uint64_t allocations() const;
  /// What is now in use more than at the start, as the allocator rounds it up, with its own eight bytes for each block.
  [[nodiscard]] std::int64_t growth() const;
};

}  // namespace bench
