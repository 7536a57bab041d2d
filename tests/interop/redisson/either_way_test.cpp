// SPDX-License-Identifier: MIT
#include "interop/redisson/meeting.hpp"
#include "support/eventually.hpp"
#include "support/temporary_folder.hpp"

#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

/// What must hold for everything of which there is one holder at a time, whoever it is.
namespace interlock::test_support {
namespace {

constexpr acquire_options at_once{.wait = 0ms};

class either_way : public meeting, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    name = fresh_name();
    if (object() == "semaphore") {
      ASSERT_EQ(java().ask("a", "permits semaphore " + name + " 1"), "set");
    }
  }
  static std::string object() { return GetParam(); }
  [[nodiscard]] rival ours() const { return {url(rival::in_url(object())), object(), name}; }
  [[nodiscard]] std::string to(const std::string& verb, const std::string& more = {}) const {
    return verb + " " + object() + " " + name + (more.empty() ? "" : " " + more);
  }
  static bool held(const std::string& said) { return said.starts_with("held"); }
  /// Until Redisson has asked and was refused, and has subscribed.
  void await_java_waits(const std::string& thread) { ASSERT_TRUE(java().waits(thread, 300ms)) << "it got in"; }
  bool ours_waits(const rival& who, std::size_t how_many = 1) const {
    return eventually([&] { return who.locks().inspect(name).waiters.size() >= how_many; });
  }

  std::string name;
};
INSTANTIATE_TEST_SUITE_P(, either_way, ::testing::Values("lock", "fenced", "write", "fair", "semaphore"),
                         [](const ::testing::TestParamInfo<const char*>& which) { return which.param; });

TEST_P(either_way, what_redisson_holds_is_busy_to_us_and_free_when_it_lets_go) {
  const auto mine = ours();
  ASSERT_TRUE(held(java().ask("a", to("lock"))));
  const auto refused = mine.take(at_once);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), errc::busy) << refused.error().message();
  EXPECT_EQ(mine.locks().inspect(name).holders.size(), 1U);
  EXPECT_EQ(java().ask("a", to("unlock")), "released");
  EXPECT_TRUE(mine.take(at_once));
}

TEST_P(either_way, what_we_hold_is_busy_to_redisson_and_free_when_we_let_go) {
  auto mine = ours().take(at_once);
  ASSERT_TRUE(mine) << mine.error().message();
  EXPECT_EQ(java().ask("a", to("try")), "busy");
  EXPECT_EQ(java().ask("b", to("try", "200")), "busy");
  EXPECT_TRUE(mine->valid());
  EXPECT_TRUE(mine->release());
  EXPECT_TRUE(held(java().ask("a", to("try"))));
  EXPECT_EQ(java().ask("a", to("unlock")), "released");
}

TEST_P(either_way, a_waiter_of_ours_is_woken_when_redisson_lets_go) {
  const auto mine = ours();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(held(java().ask("a", to("lock"))));
    auto wait = mine.queue({.lease = long_lease});
    ASSERT_TRUE(ours_waits(mine));
    std::this_thread::sleep_for(200ms);
    ASSERT_FALSE(wait.ready());
    ASSERT_EQ(java().ask("a", to("unlock")), "released");
    EXPECT_LT(time_of([&] { EXPECT_TRUE(wait.get().release()); }), promptly);
  }
}

TEST_P(either_way, a_waiter_of_redissons_is_woken_when_we_let_go) {
  const auto mine = ours();
  for (int round = 0; round < 3; ++round) {
    auto holding = mine.take({.lease = long_lease, .wait = 0ms});
    ASSERT_TRUE(holding) << holding.error().message();
    java().tell("a", to("lock"));
    await_java_waits("a");
    ASSERT_TRUE(holding->release());
    EXPECT_LT(time_of([&] { EXPECT_TRUE(held(java().answer("a"))); }), promptly);
    EXPECT_EQ(java().ask("a", to("unlock")), "released");
  }
}

TEST_P(either_way, a_waiter_that_gave_up_does_not_stop_the_next_one_from_being_woken) {
  const auto mine = ours();
  auto holding = mine.take({.lease = long_lease, .wait = 0ms});
  ASSERT_TRUE(holding);
  java().tell("a", to("try", "700"));
  await_java_waits("a");
  java().tell("b", to("lock"));
  const auto short_wait = ours().take({.lease = long_lease, .wait = 300ms});
  EXPECT_FALSE(short_wait);
  EXPECT_EQ(java().answer("a"), "busy");
  ASSERT_TRUE(holding->release());
  EXPECT_LT(time_of([&] { EXPECT_TRUE(held(java().answer("b"))); }), promptly);
  EXPECT_EQ(java().ask("b", to("unlock")), "released");
}

TEST_P(either_way, a_counter_that_both_count_up_loses_nothing) {
  constexpr int rounds = 40;
  const temporary_folder folder("interop");
  const auto file = folder.path() / "count";
  for (const char* thread : {"a", "b"}) java().tell(thread, to("count", file.string() + " " + std::to_string(rounds)));
  std::vector<std::jthread> workers;
  for (int i = 0; i < 2; ++i)
    workers.emplace_back([&, i, mine = ours()] {
      const auto fresh = file.string() + ".ours" + std::to_string(i);
      for (int round = 0; round < rounds; ++round) {
        auto holding = mine.take({.wait = 60s});
        ASSERT_TRUE(holding) << holding.error().message();
        long number = 0;
        std::ifstream(file) >> number;
        std::ofstream(fresh) << number + 1;
        std::filesystem::rename(fresh, file);
        ASSERT_TRUE(holding->release());
      }
    });
  for (const char* thread : {"a", "b"}) EXPECT_EQ(java().answer(thread, 90s), "counted");
  workers.clear();
  long number = 0;
  std::ifstream(file) >> number;
  EXPECT_EQ(number, 4 * rounds);
}

TEST_P(either_way, a_redisson_that_is_killed_while_holding_costs_its_lease_neither_more_nor_less) {
  constexpr auto lease = 1500ms;
  java_peer dies("single", server().port(), lease);
  const auto mine = ours();
  ASSERT_TRUE(held(dies.ask("a", to("lock", "1500"))));
  auto wait = mine.queue({.lease = 5s});
  ASSERT_TRUE(ours_waits(mine));
  dies.kill();
  milliseconds left{};
  const auto took = time_of([&] {
    left = time_left(server(), object(), name);
    EXPECT_TRUE(wait.get().release());
  });
  EXPECT_GE(took, left - 50ms) << "not before the lease is over";
  EXPECT_LT(took, lease + 5s);
}

TEST_P(either_way, an_interlock_that_is_killed_while_holding_costs_its_lease_neither_more_nor_less) {
  constexpr auto lease = 1500ms;
  const auto* verb = object() == "semaphore" ? "permit" : "hold";
  agent dies({verb, url(rival::in_url(object())), name, "1500"});
  ASSERT_TRUE(dies.after("held"));
  java().tell("a", to("lock"));
  await_java_waits("a");
  dies.kill();
  milliseconds left{};
  const auto took = time_of([&] {
    left = time_left(server(), object(), name);
    EXPECT_TRUE(held(java().answer("a")));
  });
  EXPECT_GE(took, left - 50ms) << "not before the lease is over";
  EXPECT_LT(took, lease + 5s);
  EXPECT_EQ(java().ask("a", to("unlock")), "released");
}

TEST_P(either_way, both_keep_what_they_hold_over_several_leases) {
  constexpr auto lease = 1500ms;
  java_peer other("single", server().port(), lease);
  const auto mine = ours();
  {
    const auto holding = mine.take({.lease = lease, .wait = 0ms});
    ASSERT_TRUE(holding);
    const auto end = std::chrono::steady_clock::now() + 3 * lease;
    while (std::chrono::steady_clock::now() < end) {
      ASSERT_EQ(other.ask("a", to("try")), "busy");
      ASSERT_TRUE(holding->valid());
      std::this_thread::sleep_for(50ms);
    }
  }
  ASSERT_TRUE(held(other.ask("a", to("lock"))));
  const auto end = std::chrono::steady_clock::now() + 3 * lease;
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_FALSE(mine.take(at_once));
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(other.ask("a", to("unlock")), "released");
  EXPECT_TRUE(mine.take(at_once));
}

}  // namespace
}  // namespace interlock::test_support
