// SPDX-License-Identifier: MIT
//
// Every host of the fleet starts the nightly report at 2:00; one of them makes it, the others go back to sleep.
//
//   ./nightly_report                          five hosts, played by five threads, on a store in memory
//   ./nightly_report sqlite:/tmp/locks.db     the same on a file
//
// A lock alone means "not at the same time", not "once": a host that is late finds the lock free again. So whoever gets
// the lock looks first whether tonight's report is there already.

#include <interlock/interlock.hpp>

#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

enum class outcome { made, busy, already_there };

static outcome at_two_o_clock(const interlock::client& locks, interlock::fenced_file& report) {
  const auto held = locks.try_acquire("reports/2026-11-15", {.lease = 10s});
  if (!held) return outcome::busy;  // and only busy: a store that cannot be reached throws
  if (!report.read().value().empty()) return outcome::already_there;
  std::this_thread::sleep_for(100ms);  // a lot of work
  report.write(held->token(), "Revenue: fine\n").value();
  return outcome::made;
}

int main(int argc, char** argv) try {
  const std::string store = argc > 1 ? argv[1] : "memory:nightly";
  const auto path = std::filesystem::temp_directory_path() / ("nightly-report-" + std::to_string(::getpid()));
  std::atomic<int> made = 0, skipped = 0;
  std::vector<std::jthread> fleet;
  for (int host = 1; host <= 5; ++host)
    fleet.emplace_back([&, host] {
      const interlock::client locks{store};
      interlock::fenced_file report{path};
      std::this_thread::sleep_for(host == 5 ? 300ms : 1ms * host);  // the fifth one's clock is late
      const auto did = at_two_o_clock(locks, report);
      std::printf("host %d: %s\n", host,
                  did == outcome::made   ? "made the report"
                  : did == outcome::busy ? "somebody else is on it"
                                         : "it is there already");
      ++(did == outcome::made ? made : skipped);
    });
  fleet.clear();
  std::filesystem::remove(path);
  std::filesystem::remove(path.string() + ".fence");
  return made == 1 && skipped == 4 ? 0 : 1;
} catch (const std::exception& why) {
  std::fprintf(stderr, "%s\n", why.what());
  return 1;
}
