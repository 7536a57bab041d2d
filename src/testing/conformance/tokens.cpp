// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(tokens);

TEST_P(tokens, a_store_that_makes_none_says_so) {
  if (store->traits().tokens) GTEST_SKIP() << "it makes tokens";
  const auto held = store->connect().acquire("orders/42");
  const auto refused = [](auto ask) {
    try {
      ask();
    } catch (const lock_error& error) {
      return error.why().kind();
    }
    return errc{};
  };
  EXPECT_EQ(refused([&] { static_cast<void>(held.token()); }), errc::unsupported);
  EXPECT_EQ(refused([&] { static_cast<void>(held.sequencer()); }), errc::unsupported);
}

TEST_P(tokens, a_token_is_never_zero_and_fits_a_signed_64_bit_column) {
  INTERLOCK_NEEDS(tokens);
  const auto locks = store->connect();
  const auto held = locks.acquire("orders/42");
  EXPECT_GE(held.token().value(), 1U);
  EXPECT_LT(held.token().value(), std::uint64_t{1} << 63);
}

TEST_P(tokens, a_token_can_be_read_after_release_and_after_loss) {
  INTERLOCK_NEEDS(tokens);
  const auto locks = store->connect();
  auto released = locks.acquire("orders/1");
  const auto token = released.token();
  EXPECT_TRUE(released.release());
  EXPECT_EQ(released.token(), token);

  const auto lost = locks.acquire("orders/2", {.lease = store->short_lease()});
  const auto before = lost.token();
  store->steal("orders/2");
  EXPECT_TRUE(eventually([&] { return !lost.valid(); }));
  EXPECT_EQ(lost.token(), before);
}

TEST_P(tokens, tokens_rise_over_release_by_the_same_and_by_other_clients) {
  INTERLOCK_NEEDS(tokens);
  const auto first = store->connect(), second = store->connect();
  fencing_token last{0};
  for (int round = 0; round < 6; ++round) {
    auto held = (round % 3 == 0 ? second : first).acquire("orders/42");
    EXPECT_GT(held.token(), last);
    last = held.token();
    EXPECT_TRUE(held.release());
  }
}

TEST_P(tokens, tokens_rise_when_one_thread_hands_over_to_another_of_its_process) {
  INTERLOCK_NEEDS(tokens);
  const auto locks = store->connect();
  auto held = locks.acquire("orders/42");
  std::vector<pending<guard>> line;
  for (int i = 0; i < 8; ++i) line.push_back(locks.async_acquire("orders/42"));
  auto last = held.token();
  held = {};
  for (auto& wait : line) {
    const auto next = wait.get();
    EXPECT_GT(next.token(), last);
    last = next.token();
  }
  const auto stranger = store->connect();
  EXPECT_GT(stranger.acquire("orders/42").token(), last) << "tokens handed out inside a process count for everyone";
}

TEST_P(tokens, tokens_rise_over_expiry) {
  INTERLOCK_NEEDS(tokens);
  auto dead = store->join();
  const auto next = store->connect();
  const auto lost = dead.locks.acquire("orders/42", {.lease = store->short_lease()});
  dead.link->cut();
  EXPECT_GT(next.acquire("orders/42").token(), lost.token());
}

TEST_P(tokens, tokens_rise_over_theft) {
  INTERLOCK_NEEDS(tokens);
  const auto first = store->connect(), second = store->connect();
  const auto robbed = first.acquire("orders/42");
  store->steal("orders/42");
  EXPECT_GT(second.acquire("orders/42").token(), robbed.token());
}

TEST_P(tokens, tokens_rise_over_eviction) {
  INTERLOCK_NEEDS(tokens);
  INTERLOCK_NEEDS(survey);
  const auto first = store->connect(), second = store->connect();
  const auto broken = first.acquire("orders/42");
  EXPECT_TRUE(second.evict_by_force("orders/42", broken.id()));
  EXPECT_GT(second.acquire("orders/42").token(), broken.token());
}

TEST_P(tokens, tokens_rise_over_a_reconnection_and_when_every_client_has_gone) {
  INTERLOCK_NEEDS(tokens);
  fencing_token last{0};
  for (int round = 0; round < 3; ++round) {
    const auto locks = store->connect();
    auto held = locks.acquire("orders/42");
    EXPECT_GT(held.token(), last);
    last = held.token();
    EXPECT_TRUE(held.release());
  }
}

TEST_P(tokens, shared_grants_carry_the_token_of_the_last_writer) {
  INTERLOCK_NEEDS(tokens);
  INTERLOCK_NEEDS(shared);
  const auto first = store->connect(), second = store->connect();
  auto writer = first.acquire("orders/42");
  const auto wrote = writer.token();
  EXPECT_TRUE(writer.release());
  const auto one = first.acquire("orders/42", {.mode = lock_mode::shared});
  const auto two = second.acquire("orders/42", {.mode = lock_mode::shared});
  EXPECT_EQ(one.token(), wrote);
  EXPECT_EQ(two.token(), wrote);
}

TEST_P(tokens, permits_of_one_semaphore_have_tokens_and_ids_of_their_own) {
  INTERLOCK_NEEDS(tokens);
  INTERLOCK_NEEDS(permits);
  const auto first = store->connect(), second = store->connect();
  const semaphore here(first, "gate", 3), there(second, "gate", 3);
  const auto one = here.acquire(), two = there.acquire(), three = here.acquire();
  EXPECT_NE(one.token(), two.token());
  EXPECT_NE(two.token(), three.token());
  EXPECT_NE(one.token(), three.token());
  EXPECT_NE(one.id(), two.id());
  EXPECT_NE(one.id(), three.id());
}

TEST_P(tokens, a_fence_that_has_seen_the_new_holder_refuses_the_old_one) {
  INTERLOCK_NEEDS(tokens);
  auto dead = store->join();
  const auto next = store->connect();
  fence resource;
  const auto old = dead.locks.acquire("orders/42", {.lease = store->short_lease()});
  EXPECT_TRUE(resource.admit(old.token()));
  dead.link->cut();
  const auto fresh = next.acquire("orders/42");
  EXPECT_TRUE(resource.admit(fresh.token()));
  EXPECT_FALSE(resource.admit(old.token()));
}

}  // namespace interlock::inline v1::testing
