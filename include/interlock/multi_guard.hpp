// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/guard.hpp>
#include <interlock/stop.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string_view>
#include <vector>

namespace interlock::inline v1 {

/// One of several locks to take together: "name", or {"name", lock_mode::shared}.
struct wanted {
  std::string_view name;
  lock_mode mode = lock_mode::exclusive;

  template <class Name>
    requires std::convertible_to<const Name&, std::string_view>
  constexpr wanted(const Name& n, lock_mode m = lock_mode::exclusive) noexcept : name(n), mode(m) {}
};

/// Several locks held as one: taken in sorted order, duplicates once (exclusive wins), all or nothing.
/// Indexed in the caller's order; duplicates give the same guard.
class [[nodiscard]] multi_guard {
 public:
  multi_guard() noexcept = default;
  multi_guard(multi_guard&&) noexcept = default;
  multi_guard& operator=(multi_guard&& other) noexcept;
  ~multi_guard();

  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  const guard& operator[](std::size_t i) const noexcept { return held_[order_[i]]; }
  /// Throws invalid_argument for a name that was not asked for.
  [[nodiscard]] const guard& at(std::string_view name) const;
  /// All of them.
  [[nodiscard]] bool valid() const noexcept;
  /// Fires with the first one lost.
  [[nodiscard]] std::stop_token lost() const noexcept;
  /// Releases all, in reverse order; the first failure, if any.
  result<void> release() noexcept;

 private:
  friend class multi_acquisition;  // builds it
  class any_lost;
  std::vector<guard> held_;         // sorted by name, no duplicates
  std::vector<std::size_t> order_;  // the caller's order, as indices into held_
  std::shared_ptr<any_lost> lost_;
};

}  // namespace interlock::inline v1
