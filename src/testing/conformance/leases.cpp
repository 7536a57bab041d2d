// SPDX-License-Identifier: MIT
#include "testing/conformance/asking.hpp"
#include "testing/conformance/suite.hpp"

#include <limits>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(leases);

TEST_P(leases, a_hold_outlives_many_of_its_leases) {
  const auto locks = store->connect(), other = store->connect();
  const auto lease = 2 * store->short_lease();
  const auto held = locks.acquire("orders/42", {.lease = lease});
  for (int i = 0; i < 8; ++i) {
    std::this_thread::sleep_for(lease / 2);
    ASSERT_TRUE(held.valid()) << "after " << i + 1 << " half leases";
    ASSERT_FALSE(other.try_acquire("orders/42"));
    ASSERT_LE(held.remaining(), lease);
  }
}

TEST_P(leases, one_failed_renewal_is_not_the_end) {
  auto host = store->join();
  const auto lease = 3 * store->short_lease();
  const auto held = host.locks.acquire("orders/42", {.lease = lease});
  for (const auto fault : {0, 1}) {
    if (fault == 0) host.link->lose_replies(request::look);
    if (fault == 1) host.link->lose_requests(request::look);
    const auto before = host.link->sent(request::look);
    EXPECT_TRUE(eventually([&] { return host.link->sent(request::look) > before; }));
    std::this_thread::sleep_for(lease + lease / 2);
    ASSERT_TRUE(held.valid());
    ASSERT_TRUE(store->peek("orders/42"));
  }
}

TEST_P(leases, a_renewal_that_was_refused_is_tried_again) {
  auto host = store->join();
  const auto lease = 3 * store->short_lease();
  const auto held = host.locks.acquire("orders/42", {.lease = lease});
  const auto before = host.link->sent(request::look);
  host.link->refuse();
  EXPECT_TRUE(eventually([&] { return host.link->sent(request::look) > before; }));
  host.link->heal();
  std::this_thread::sleep_for(lease + lease / 2);
  EXPECT_TRUE(held.valid());
}

TEST_P(leases, many_holds_of_one_client_are_all_renewed) {
  const auto locks = store->connect();
  const auto lease = 3 * store->short_lease();
  std::vector<guard> held;
  for (int i = 0; i < 300; ++i) held.push_back(locks.acquire("many/" + std::to_string(i), {.lease = lease}));
  std::this_thread::sleep_for(2 * lease);
  std::size_t lost = 0;
  for (const auto& one : held) lost += one.valid() ? 0 : 1;
  EXPECT_EQ(lost, 0U);
}

TEST_P(leases, a_lease_is_judged_by_its_own_length_and_not_by_the_onlookers) {
  auto dead = store->join();
  const auto hasty = store->connect({.lease = store->short_lease()});
  const auto lease = 4 * store->short_lease();
  const auto begin = boot_clock::now();
  const auto held = dead.locks.acquire("orders/42", {.lease = lease});
  dead.link->cut();
  const auto next = hasty.acquire("orders/42");
  EXPECT_GE(boot_clock::now() - begin, lease - 10ms);
  EXPECT_FALSE(held.valid());
}

TEST_P(leases, a_dead_holder_costs_its_lease_and_not_much_more) {
  auto dead = store->join();
  const auto next = store->connect();
  const auto lease = 2 * store->short_lease();
  const auto held = dead.locks.acquire("orders/42", {.lease = lease});
  dead.link->cut();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(next.attempt("orders/42", {.wait = 30s}));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, lease + store->traits().tick + 3s);
}

TEST_P(leases, lock_delay_keeps_the_lock_shut_after_an_unclean_end) {
  auto dead = store->join();
  const auto next = store->connect();
  const auto lease = store->short_lease(), delay = 2 * store->short_lease();
  const auto begin = boot_clock::now();
  const auto held = dead.locks.acquire("orders/42", {.lease = lease, .lock_delay = delay});
  EXPECT_LE(held.remaining(), lease) << "the delay is not for the holder";
  dead.link->cut();
  EXPECT_TRUE(next.attempt("orders/42", {.wait = 30s}));
  EXPECT_GE(boot_clock::now() - begin, lease + delay - 10ms);
}

TEST_P(leases, lock_delay_does_not_hold_up_a_clean_release) {
  const auto first = store->connect(), second = store->connect();
  auto held = first.acquire("orders/42", {.lock_delay = 60s});
  EXPECT_TRUE(held.release());
  EXPECT_TRUE(second.attempt("orders/42", {.wait = 0ms}));
}

TEST_P(leases, max_hold_ends_a_hold_that_is_still_being_renewed) {
  event_log log;
  const auto first = store->connect({.observer = log.writer()}), second = store->connect();
  const auto lease = store->short_lease();
  const auto begin = std::chrono::steady_clock::now();
  const auto held = first.acquire("orders/42", {.lease = lease, .max_hold = 3 * lease});
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2 * lease) << "it was renewed until then";
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.why_lost(), loss_reason::overheld);
  EXPECT_TRUE(second.attempt("orders/42", {.wait = 20s}));
  EXPECT_EQ(log.count(event_kind::lost), 1U);
}

TEST_P(leases, max_hold_shorter_than_the_lease_counts_too) {
  const auto locks = store->connect();
  const auto held = locks.acquire("orders/42", {.lease = 20s, .max_hold = 200ms});
  EXPECT_LE(held.remaining(), 200ms);
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_EQ(held.why_lost(), loss_reason::overheld);
}

TEST_P(leases, impossible_durations_are_refused_and_change_nothing) {
  const auto locks = store->connect();
  const auto refused = [&](acquire_options how) {
    const auto reply = locks.attempt("orders/42", how);
    return !reply && reply.error() == errc::invalid_argument;
  };
  constexpr auto least = milliseconds::min(), most = milliseconds::max();
  for (const auto bad : {0ms, -1ms, least, most, store->traits().lease_min - 1ms})
    EXPECT_TRUE(refused({.lease = bad, .wait = 0ms})) << "lease " << bad.count();
  for (const auto bad : {-1ms, least}) EXPECT_TRUE(refused({.wait = bad})) << "wait " << bad.count();
  for (const auto bad : {-1ms, least, most})
    EXPECT_TRUE(refused({.lock_delay = bad, .wait = 0ms})) << "lock_delay " << bad.count();
  for (const auto bad : {0ms, -1ms, least})
    EXPECT_TRUE(refused({.max_hold = bad, .wait = 0ms})) << "max_hold " << bad.count();
  EXPECT_TRUE(store->empty({"orders/42"}));
}

TEST_P(leases, the_longest_durations_do_not_overflow) {
  const auto locks = store->connect(), other = store->connect();
  const auto longest = std::min<milliseconds>(store->traits().lease_max, std::chrono::hours{24 * 30});
  for (const auto lease : {longest, std::min<milliseconds>(longest, std::chrono::hours{24 * 25})}) {
    auto held = locks.attempt("orders/42", {.lease = lease, .wait = std::chrono::hours{24 * 365}});
    ASSERT_TRUE(held) << held.error().message();
    EXPECT_TRUE(held->valid());
    EXPECT_GT(held->remaining(), lease / 2);
    EXPECT_FALSE(other.try_acquire("orders/42"));
    EXPECT_TRUE(held->release());
  }
}

TEST_P(leases, the_shortest_lease_the_store_promises_can_be_held) {
  const auto locks = store->connect();
  auto& waist = store->waist();
  const auto who = fresh_claim("orders/42", store->traits().lease_min);
  EXPECT_EQ(enter(waist, who)->is, standing::kind::held);
  EXPECT_TRUE(eventually([&] {
    return look(waist, fresh_claim("orders/42"))->is == standing::kind::gone &&
           locks.try_acquire("orders/42").has_value();
  }));
}

}  // namespace interlock::inline v1::testing
