// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_replicas.hpp"

#include <interlock/client.hpp>
#include <interlock/semaphore.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// With replicas= looks go another way than the rest. Waiters that ask again when they are told must be told all the
/// same.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using test_support::eventually;
using test_support::redis_replicas;

// Long, so that whoever is not told of a release is noticed: it looks again after a third of ten seconds.
constexpr acquire_options long_lease{.lease = 30s};
constexpr milliseconds promptly = 2500ms;

struct thing {
  const char* name;
  const char* query;
  std::uint32_t permits = 0;  // 0: it is a lock
};

class replicated_waiters : public ::testing::TestWithParam<thing> {
 protected:
  [[nodiscard]] std::string url() { return servers.master().url(std::string("replicas=1&layout=") + GetParam().query); }
  static result<guard> take(const client& locks, const acquire_options& how) {
    const auto permits = GetParam().permits;
    return permits == 0 ? locks.attempt("a", how) : semaphore(locks, "a", permits).attempt(how);
  }
  redis_replicas servers{1};
};
INSTANTIATE_TEST_SUITE_P(, replicated_waiters,
                         ::testing::Values(thing{"native", "native"}, thing{"plain", "plain"},
                                           thing{"redisson", "redisson"},
                                           thing{"redisson_fair", "redisson&object=fair"},
                                           thing{"redisson_permit", "redisson", 1},
                                           thing{"redisson_permits", "redisson", 2}),
                         [](const ::testing::TestParamInfo<thing>& which) { return which.param.name; });

TEST_P(replicated_waiters, are_told_of_each_release) {
  constexpr int rounds = 25;
  std::mutex mutex;
  steady_clock::duration longest{0};
  {
    const client one(url()), other(url());
    std::vector<std::jthread> workers;
    for (const auto* locks : {&one, &one, &one, &other, &other, &other})
      workers.emplace_back([&, locks] {
        for (int round = 0; round < rounds; ++round) {
          const auto begin = steady_clock::now();
          auto held = take(*locks, long_lease);
          const auto took = steady_clock::now() - begin;
          ASSERT_TRUE(held) << held.error().message();
          EXPECT_TRUE(held->release());
          const std::lock_guard lock(mutex);
          longest = std::max(longest, took);
        }
      });
  }
  EXPECT_LT(longest, promptly) << "somebody was not told";
}

TEST_P(replicated_waiters, that_have_left_leave_no_subscription) {
  const auto channels = [&] { return servers.master().command({"PUBSUB", "CHANNELS"}).size(); };
  const auto left = [&] {
    std::string out = "there are";
    for (const auto& one : servers.master().command({"PUBSUB", "CHANNELS"}).list) out += " " + one.text;
    return out;
  };
  const client locks(url()), other(url());
  for (const auto* one : {&locks, &other})
    take(*one, long_lease).value().release().value();  // behind what they subscribe to
  const auto at_first = channels();
  {
    std::vector<guard> all;
    do all.push_back(take(locks, long_lease).value());
    while (all.size() < GetParam().permits);
    EXPECT_FALSE(take(other, {.lease = 600ms, .wait = 1s})) << "it has looked several times meanwhile";
  }
  EXPECT_TRUE(eventually([&] { return channels() == at_first; }, 5s)) << left();
}

}  // namespace
}  // namespace interlock

#endif
