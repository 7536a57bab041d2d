// SPDX-License-Identifier: MIT
//
// Many threads reserve the same few items; nothing is sold that is not there, and nothing that is there stays unsold.
//
//   ./stock_reservation                          locks in memory
//   ./stock_reservation sqlite:/tmp/locks.db     locks in a file, for many processes
//
// interlock::mutex is a standard mutex: std::scoped_lock takes two of them at once without a deadlock.

#include <interlock/interlock.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

struct warehouse {
  int lamps = 30, bulbs = 40;  // plain numbers: only the locks protect them

  bool reserve_set() {
    const int seen_lamps = lamps, seen_bulbs = bulbs;
    if (seen_lamps < 1 || seen_bulbs < 2) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});  // a slow database
    lamps = seen_lamps - 1;
    bulbs = seen_bulbs - 2;
    return true;
  }
};

int main(int argc, char** argv) try {
  const interlock::client locks{argc > 1 ? argv[1] : "memory:"};
  interlock::mutex lamps{locks, "stock/lamps"}, bulbs{locks, "stock/bulbs"};
  interlock::semaphore desks{locks, "stock/desks", 4};  // at most four customers are served at a time
  warehouse stock;
  std::atomic<int> sold = 0, turned_away = 0;
  std::vector<std::jthread> customers;
  for (int i = 0; i < 32; ++i)
    customers.emplace_back([&, i] {
      const auto desk = desks.acquire();
      // Half of them name the locks in the other order: std::scoped_lock does not mind.
      const auto both = i % 2 == 0 ? std::scoped_lock{lamps, bulbs} : std::scoped_lock{bulbs, lamps};
      ++(stock.reserve_set() ? sold : turned_away);
    });
  customers.clear();
  std::printf("%d sets sold, %d customers turned away; left: %d lamps, %d bulbs\n", sold.load(), turned_away.load(),
              stock.lamps, stock.bulbs);
  return sold == 20 && turned_away == 12 && stock.lamps == 10 && stock.bulbs == 0 ? 0 : 1;
} catch (const std::exception& why) {
  std::fprintf(stderr, "%s\n", why.what());
  return 1;
}
