// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/client.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

/// Waiters that queue again as soon as they have been served. One grant at a time, so only who holds the lock counts.
class crowd {
 public:
  using asking = std::function<interlock::pending<interlock::guard>(std::size_t who)>;
  crowd(std::size_t waiters, asking ask);
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;
  ~crowd() { end(); }
  void end();
  /// How often each one was; after end(). Throws if one was refused.
  [[nodiscard]] const std::vector<std::uint64_t>& served() const;
  /// How often the lock went to another one than before.
  [[nodiscard]] const std::atomic<std::uint64_t>& changes() const { return changes_; }

 private:
  void queue(std::size_t who);

  const asking ask_;
  std::vector<std::uint64_t> served_;
  std::size_t last_;
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::size_t> running_;
  std::atomic<bool> over_{false}, refused_{false};
};

}  // namespace bench
