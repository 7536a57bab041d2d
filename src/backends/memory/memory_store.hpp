// SPDX-License-Identifier: MIT
#pragma once

#include "backends/memory/memory_cells.hpp"
#include "core/claim_book.hpp"

#include <interlock/backend.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace interlock::inline v1::memory_store {

/// The books of one memory store: any number of clients of this process, and the reference for every other store.
class books {
 public:
  explicit books(const time_source& time) noexcept : time_(time), cells_(time) {}

  /// Ends every hold on the name behind everybody's back.
  void remove_holders(std::string_view name);
  [[nodiscard]] lock_info describe(std::string_view name);

 private:
  friend class memory_backend;
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  core::claim_book& book_of(std::string_view name);
  void forget_idle();

  const time_source& time_;
  std::mutex mutex_;
  std::unordered_map<std::string, core::claim_book, text_hash, std::equal_to<>> names_;
  std::uint64_t token_floor_ = 0;  // above every token of a book that was forgotten
  std::size_t touched_ = 0;
  memory_cells cells_;
};

/// A client's view of `shared`.
std::unique_ptr<backend> open_memory(std::shared_ptr<books> shared, const backend_environment& environment);
/// "memory:" is private to the client, "memory:NAME" shared inside the process.
result<std::unique_ptr<backend>> open_memory(const backend_environment& environment);

}  // namespace interlock::inline v1::memory_store
