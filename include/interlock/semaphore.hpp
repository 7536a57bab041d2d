// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/client.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace interlock::inline v1 {

/// Lets `limit` permits of a name be held at once across the fleet. A permit is a guard: a crash returns it after its
/// lease, and nobody can release what they do not hold. options.permits takes several in one go.
class semaphore {
 public:
  /// A limit of 0 or above 2^31 - 1 throws invalid_argument. A limit that differs from the fleet's is refused with
  /// invalid_argument by acquire, as long as anybody holds or waits.
  semaphore(client locks, std::string_view name, std::uint32_t limit);

  guard acquire(acquire_options options = {}, std::stop_token stop = {}) const;
  [[nodiscard]] std::optional<guard> try_acquire(acquire_options options = {}, std::stop_token stop = {}) const;
  result<guard> attempt(acquire_options options = {}, std::stop_token stop = {}) const;
  pending<guard> async_acquire(acquire_options options = {}, std::stop_token stop = {}) const;
  /// Already old when you read it.
  [[nodiscard]] std::uint32_t available() const;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }

 private:
  client locks_;
  std::string name_;
  std::uint32_t limit_;
};

}  // namespace interlock::inline v1
