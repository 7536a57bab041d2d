// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

/// Another lock library, in a program that speaks our few words; tests/interop/*/install makes them.
struct peer_library {
  std::string name{};
  std::vector<std::string> command{};  ///< addresses of servers, "127.0.0.1:6379", follow
  std::string needs{};                 ///< a file that is there if it is installed
  std::string runs_on{};               ///< a program that is needed to run it; empty: none

  /// Why it cannot be measured here; empty if it can.
  [[nodiscard]] std::string missing() const;
};

/// A library at work in a process of its own, on the core of the thread that starts it. It is started once and told
/// again and again to work for a while, so that its rounds can stand between ours and its start counts for nothing:
///
///     us  > run LOCKS SECONDS      it < ready
///                                  it < pairs NUMBER SECONDS
///
/// So many different locks at once, each taken without waiting and released, over and over. Some know "pass WAITERS
/// SECONDS" too: so many who queue for one lock over and over, and each change of its holder counts as a pair. While it
/// is not told to work it is stopped: collectors of garbage and just-in-time compilers go on for a while, and would do
/// so in our turn.
class peer_process {
 public:
  /// Connected to all servers when this returns.
  peer_process(const peer_library& which, const std::vector<std::string>& addresses);
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;
  ~peer_process();

  /// Seconds per pair.
  double pace(int locks, double seconds) { return awake("run", locks, seconds); }
  /// Seconds per change of holder.
  double pace_of_passing(int waiters, double seconds) { return awake("pass", waiters, seconds); }
  /// Lets it work, and rest as long as it is busy with itself, until it gets no faster. Returns how many seconds it
  /// took.
  double warm_up(int locks, double seconds);

 private:
  double awake(const std::string& word, int number, double seconds);
  double work(const std::string& word, int number, double seconds);
  void rest() const;
  std::string line(double within);
  void say(const std::string& text) const;

  std::string name_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  std::string read_;
};

}  // namespace bench
