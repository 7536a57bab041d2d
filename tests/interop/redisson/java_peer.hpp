// SPDX-License-Identifier: MIT
#pragma once

#include "support/agent.hpp"

#include <chrono>
#include <deque>
#include <map>
#include <string>

namespace interlock::test_support {

/// A process with the real Redisson in it; Peer.java says what it can be told.
class java_peer {
 public:
  /// `deployment` is "single" or "cluster". It is connected when this returns.
  java_peer(const std::string& deployment, int port, std::chrono::milliseconds watchdog);

  /// "VERB OBJECT NAME ...", to be done by this thread of it; and what it said to the first thing not answered yet.
  void tell(const std::string& thread, const std::string& what);
  std::string answer(const std::string& thread, std::chrono::milliseconds within = std::chrono::seconds{60});
  std::string ask(const std::string& thread, const std::string& what) {
    tell(thread, what);
    return answer(thread);
  }
  /// Has it not answered yet?
  bool waits(const std::string& thread, std::chrono::milliseconds for_so_long);
  void kill() { process_.kill(); }

 private:
  bool read_line(std::chrono::milliseconds within);

  agent process_;
  std::map<std::string, std::deque<std::string>> said_;
};

}  // namespace interlock::test_support
