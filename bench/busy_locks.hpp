// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/client.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// Does a callback wait for the release's answer before it acquires again, or does its guard just end?
enum class releases { awaited, detached };

/// Different locks of one client, all in use at once: each is acquired, released and acquired again, through callbacks.
class busy_locks {
 public:
  busy_locks(const interlock::client& locks, std::vector<std::string> names, releases how = releases::awaited);
  busy_locks(const busy_locks&) = delete;
  busy_locks& operator=(const busy_locks&) = delete;
  ~busy_locks() { end(); }
  [[nodiscard]] const std::atomic<std::uint64_t>& pairs() const { return pairs_; }
  /// Throws if one was refused.
  void finish();

 private:
  void acquire(std::size_t which);
  void acquired(std::size_t which, interlock::result<interlock::guard> got);
  void released(std::size_t which, bool good);
  void end();

  const interlock::client& locks_;
  const std::vector<std::string> names_;
  const releases how_;
  std::atomic<std::uint64_t> pairs_{0};
  std::atomic<std::size_t> running_;
  std::atomic<bool> over_{false}, refused_{false};
};

/// As many as the cases with many locks have at once.
inline constexpr int many_locks = 64;

/// Seconds per pair with so many locks in use at once, called many/0, many/1, ...
double busy_pace(const interlock::client& locks, int count, double seconds);
/// The same with one lock, whose caller waits.
double lone_pace(const interlock::client& locks, double seconds);

}  // namespace bench
