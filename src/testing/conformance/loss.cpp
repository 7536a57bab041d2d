// SPDX-License-Identifier: MIT
#include "testing/conformance/suite.hpp"

#include <atomic>
#include <mutex>
#include <random>

namespace interlock::inline v1::testing {

INTERLOCK_SUITE(loss);

TEST_P(loss, a_holder_that_is_cut_off_knows_it_before_anyone_else_can_be_granted) {
  auto holder = store->join();
  const auto rival = store->connect();
  for (int round = 0; round < 3; ++round) {
    auto held = holder.locks.acquire("orders/42", {.lease = store->short_lease()});
    holder.link->cut();
    // Asking without pause: the very instant at which the store would let somebody else in.
    std::optional<guard> next;
    while (!next) next = rival.try_acquire("orders/42");
    EXPECT_FALSE(held.valid()) << "two holders at once, in round " << round;
    EXPECT_EQ(held.remaining(), 0ms);
    EXPECT_TRUE(next->release());
    holder.link->heal();
  }
}

TEST_P(loss, every_sign_of_loss_agrees_and_the_observer_is_told_once) {
  event_log log;
  auto holder = store->join({.observer = log.writer()});
  auto held = holder.locks.acquire("orders/42", {.lease = store->short_lease()});
  std::atomic<int> fired{0};
  const std::stop_callback told(held.lost(), [&] { ++fired; });
  EXPECT_FALSE(held.lost().stop_requested());
  holder.link->cut();

  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.state(), lock_state::lost);
  EXPECT_EQ(held.why_lost(), loss_reason::lapsed);
  EXPECT_THROW(held.throw_if_lost(), lock_error);
  EXPECT_TRUE(eventually([&] { return fired == 1; }));
  EXPECT_TRUE(eventually([&] { return log.count(event_kind::lost) == 1; }));
  EXPECT_EQ(log.last_loss(), loss_reason::lapsed);

  const auto released = held.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error(), errc::lost);
  holder.link->heal();
  std::this_thread::sleep_for(store->short_lease());
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(log.count(event_kind::lost), 1U);
}

TEST_P(loss, jeopardy_is_told_before_loss_and_recovery_after_it) {
  const auto holder = store->join();
  const auto lease = 3 * store->short_lease();
  const auto held = holder.locks.acquire("orders/42", {.lease = lease});
  std::mutex mutex;
  std::vector<lock_state> seen;
  const auto told = held.on_change([&](lock_state now) {
    const std::lock_guard lock(mutex);
    seen.push_back(now);
  });
  const auto last = [&] {
    const std::lock_guard lock(mutex);
    return seen.empty() ? lock_state::empty : seen.back();
  };
  holder.link->cut();
  EXPECT_TRUE(eventually([&] { return last() == lock_state::jeopardy; }));
  EXPECT_TRUE(held.valid()) << "in jeopardy the lease still stands";
  holder.link->heal();
  EXPECT_TRUE(eventually([&] { return last() == lock_state::held; }));
  EXPECT_TRUE(held.valid());
  holder.link->cut();
  EXPECT_TRUE(eventually([&] { return last() == lock_state::lost; }));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(seen, (std::vector{lock_state::jeopardy, lock_state::held, lock_state::jeopardy, lock_state::lost}));
}

TEST_P(loss, theft_is_noticed_by_the_next_renewal_and_called_a_reset) {
  event_log log;
  const auto locks = store->connect({.observer = log.writer()});
  const auto held = locks.acquire("orders/42", {.lease = store->short_lease()});
  store->steal("orders/42");
  EXPECT_TRUE(eventually([&] { return held.lost().stop_requested(); }));
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.why_lost(), loss_reason::store_reset);
  EXPECT_TRUE(eventually([&] { return log.count(event_kind::lost) == 1; }));
  EXPECT_FALSE(store->peek("orders/42")) << "a renewal brought it back";
}

TEST_P(loss, a_grant_whose_answer_came_late_is_counted_from_when_it_was_asked_for) {
  auto slow = store->join();
  const auto lease = 3 * store->short_lease(), late = store->short_lease();
  slow.link->delay_replies(request::enter, late);
  slow.link->lose_requests(request::look, 1000);  // a renewal would count from its own question
  const auto held = slow.locks.acquire("orders/42", {.lease = lease});
  EXPECT_LE(held.remaining(), lease - late);
}

TEST_P(loss, an_answer_later_than_the_lease_is_never_a_hold) {
  auto slow = store->join();
  const auto lease = store->short_lease();
  slow.link->delay_replies(request::enter, 2 * lease);
  {
    const auto reply = slow.locks.attempt("orders/42", {.lease = lease, .wait = 0ms});
    if (reply) {
      EXPECT_TRUE(reply->valid()) << "over when acquire returned";
    }
  }
  EXPECT_TRUE(becomes_free("orders/42"));
}

TEST_P(loss, a_renewal_confirmed_too_late_does_not_bring_the_hold_back) {
  auto slow = store->join();
  const auto lease = store->short_lease();
  const auto held = slow.locks.acquire("orders/42", {.lease = lease});
  slow.link->delay_replies(request::look, 2 * lease, 1000);
  EXPECT_TRUE(eventually([&] { return !held.valid(); }));
  for (int i = 0; i < 50; ++i) {
    ASSERT_FALSE(held.valid());
    std::this_thread::sleep_for(lease / 20);
  }
  EXPECT_EQ(held.state(), lock_state::lost);
}

TEST_P(loss, a_waiter_whose_place_ran_out_while_it_was_cut_off_does_not_believe_an_old_grant) {
  auto waiter = store->join();
  const auto first = store->connect(), third = store->connect();
  auto held = first.acquire("orders/42");
  queue_of_waiters line(*store, "orders/42");
  auto& cut_off = line.add(waiter.locks, {.lease = store->short_lease()});
  waiter.link->cut();
  EXPECT_TRUE(held.release());
  auto other = third.acquire("orders/42");
  waiter.link->heal();
  for (int i = 0; i < 20; ++i) {
    ASSERT_FALSE(cut_off.ready()) << "granted while another holds it";
    std::this_thread::sleep_for(store->short_lease() / 20);
  }
  EXPECT_TRUE(other.valid());
  EXPECT_TRUE(other.release());
  const auto mine = cut_off.get();
  EXPECT_TRUE(mine.valid());
  EXPECT_TRUE(newer(mine, other));
}

TEST_P(loss, the_same_client_can_hold_again_after_a_loss) {
  auto holder = store->join();
  auto held = holder.locks.acquire("orders/42", {.lease = store->short_lease()});
  holder.link->cut();
  EXPECT_TRUE(eventually([&] { return !held.valid(); }));
  holder.link->heal();
  const auto again = holder.locks.acquire("orders/42");
  EXPECT_TRUE(again.valid());
  EXPECT_TRUE(newer(again, held));
  EXPECT_FALSE(held.valid());
}

// Whoever is granted looks at everybody who was granted before: none of them may still believe.
TEST_P(loss, at_no_grant_does_an_earlier_holder_still_believe_whatever_the_links_do) {
  struct {
    std::mutex mutex;
    std::vector<const guard*> believers;
  } all;
  std::atomic<unsigned> overlaps{0}, grants{0};
  std::atomic<bool> stop{false};
  const auto work = [&](const peer& host, unsigned number) {
    std::mt19937 dice(number);
    while (!stop) {
      auto held = host.locks.attempt("orders/42", {.lease = store->short_lease(), .wait = 5s});
      if (!held) continue;
      ++grants;
      {
        const std::lock_guard lock(all.mutex);
        for (const auto* other : all.believers) overlaps += other->valid() ? 1 : 0;
        all.believers.push_back(&*held);
      }
      if (dice() % 3 == 0) host.link->cut();
      std::this_thread::sleep_for(milliseconds(dice() % 40));
      if (dice() % 2 == 0) eventually([&] { return !held->valid() || stop; }, store->short_lease());
      host.link->heal();
      const std::lock_guard lock(all.mutex);
      std::erase(all.believers, &*held);
    }
  };
  {
    std::vector<peer> hosts;
    for (int i = 0; i < 4; ++i) hosts.push_back(store->join({.patience = 1s}));
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < hosts.size(); ++i) workers.emplace_back([&, i] { work(hosts[i], i); });
    std::this_thread::sleep_for(8 * store->short_lease());
    stop = true;
  }
  EXPECT_EQ(overlaps, 0U);
  EXPECT_GT(grants, 4U);
}

}  // namespace interlock::inline v1::testing
