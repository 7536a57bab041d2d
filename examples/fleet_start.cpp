// SPDX-License-Identifier: MIT
//
// Three workers load their data; the gateway opens for customers when all of them are ready.
//
//   ./fleet_start                             four hosts, played by four threads, on a store in memory
//   ./fleet_start sqlite:/tmp/locks.db        the same on a file
//
// A latch is data, not a lock: if a worker dies before it has counted, nobody counts for it. So the gateway does not
// wait for ever.

#include <interlock/interlock.hpp>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
  const std::string store = argc > 1 ? argv[1] : "memory:fleet";
  const auto release = "start/release-" + std::to_string(::getpid());  // a name of its own for each round
  std::atomic<int> ready = 0;
  std::vector<std::jthread> workers;
  for (int host = 1; host <= 3; ++host)
    workers.emplace_back([&, host] {
      const interlock::latch start{interlock::client{store}, release, 3};
      std::this_thread::sleep_for(50ms * host);  // a lot of data
      ++ready;
      std::printf("worker %d: ready, %u to go\n", host, start.count_down());
    });

  const interlock::latch start{interlock::client{store}, release, 3};
  if (!start.wait_for(10s)) {
    std::printf("gateway: not everybody has come, %u missing\n", start.left());
    return 1;
  }
  std::printf("gateway: open\n");
  return ready == 3 ? 0 : 1;
} catch (const std::exception& why) {
  std::fprintf(stderr, "%s\n", why.what());
  return 1;
}
