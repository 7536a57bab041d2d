// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

/// What the processes of one measurement share.
struct shared_facts {
  std::atomic<double> typical{0};       ///< what was measured, by the process that measured it
  std::atomic<std::uint64_t> count{0};  ///< of hand-offs
  std::atomic<std::uint64_t> grants{0};
  std::atomic<int> last{-1};  ///< who was served last
  std::array<std::atomic<bool>, 2> asking{};
  std::atomic<int> ready{0};  ///< how many have got to work
  std::atomic<bool> over{false};
};

/// Child processes of this one, which must not have threads while they are started. Each opens its own client.
class processes {
 public:
  processes();
  processes(const processes&) = delete;
  processes& operator=(const processes&) = delete;
  /// Whoever has not ended is killed.
  ~processes();

  [[nodiscard]] shared_facts& facts() const { return *facts_; }
  pid_t start(const std::function<void(shared_facts&)>& body);
  /// Waits until all that were started are ready.
  void wait_until_ready() const;
  /// Tells them that it is over and waits for them; throws if one failed or does not end.
  void finish();

 private:
  void look_after(pid_t child) const;
  shared_facts* facts_;
  std::vector<pid_t> children_;
  int started_ = 0;
};

}  // namespace bench
