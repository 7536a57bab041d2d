// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/lease_of.hpp"
#include "support/redis_cluster.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

/// A script's keys must be of one slot, so a cluster is asked after claims slot by slot.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::lease_of;
using test_support::redis_cluster;

std::int64_t scripts_called(redis_cluster& servers) {
  std::int64_t calls = 0;
  for (auto* one : servers.masters()) {
    const auto counts = one->commandstats();
    for (const char* name : {"eval", "evalsha"})
      if (const auto found = counts.find(name); found != counts.end()) calls += found->second.calls;
  }
  return calls;
}

TEST(redis_cluster_looks, sixty_claims_of_one_slot_are_renewed_by_a_few_calls) {
  redis_cluster servers;
  const client locks(servers.url());
  const semaphore gate(locks, "gate", 100);
  std::vector<guard> held;
  for (int i = 0; i < 60; ++i) held.push_back(gate.acquire(lease_of(3s)));
  const auto before = scripts_called(servers);
  std::this_thread::sleep_for(4s);
  const auto calls = scripts_called(servers) - before;
  for (const auto& one : held) EXPECT_TRUE(one.valid());
  EXPECT_GE(calls, 2) << "they are renewed every second";
  EXPECT_LE(calls, 60) << "240 renewals, spread a little over the time";
}

TEST(redis_cluster_looks, claims_of_many_slots_are_each_renewed_where_they_are) {
  redis_cluster servers;
  const client locks(servers.url());
  std::vector<guard> held;
  for (int i = 0; i < 60; ++i) held.push_back(locks.acquire("n" + std::to_string(i), lease_of(3s)));
  std::this_thread::sleep_for(4s);
  for (const auto& one : held) EXPECT_TRUE(one.valid()) << one.name();
}

}  // namespace
}  // namespace interlock

#endif
