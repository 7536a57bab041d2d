// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

/// In the plain layout without tokens a release looks at nothing but the lock and a mark beside it.
namespace interlock {
namespace {

using test_support::eventually;
using test_support::redis_server;

class redis_plain_mark : public testing::Test {
 protected:
  [[nodiscard]] bool is_marked(const std::string& name) const {
    return server.command({"EXISTS", "ilk1:{" + name + "}:m"}).number == 1;
  }
  [[nodiscard]] std::int64_t published() const { return server.commandstats()["publish"].calls; }

  redis_server server;
  client locks{server.url("layout=plain&token=none")}, others{server.url("layout=plain&token=none")};
};

TEST_F(redis_plain_mark, is_not_there_while_nobody_waits) {
  auto held = locks.acquire("orders");
  EXPECT_FALSE(is_marked("orders"));
  held.release().value();
  EXPECT_FALSE(is_marked("orders"));
  EXPECT_EQ(published(), 0);
}

// A release deletes it together with the lock: whoever still waits then sets it again.
TEST_F(redis_plain_mark, is_set_again_by_who_was_told_in_vain) {
  auto held = locks.acquire("orders");
  auto waiting = others.async_acquire("orders");
  ASSERT_TRUE(eventually([&] { return is_marked("orders"); }));
  server.command({"DEL", "ilk1:{orders}:m"});
  ASSERT_TRUE(eventually([&] {  // again and again: it may not be listening yet
    return server.command({"PUBLISH", "ilk1:{orders}:n", "free"}).number == 1 && is_marked("orders");
  }));

  const auto before = published();
  held.release().value();
  EXPECT_EQ(published(), before + 1) << "it was told nothing";
  auto next = waiting.get();
  EXPECT_TRUE(next.valid());
  EXPECT_TRUE(is_marked("orders")) << "its holder is written down in the companion";
  next.release().value();
  EXPECT_FALSE(is_marked("orders"));
  EXPECT_EQ(server.command({"EXISTS", "ilk1:{orders}:c"}).number, 0) << "nothing is left of it";
}

// Names beside such a key have another form, and its release looks into the companion itself.
TEST_F(redis_plain_mark, is_not_needed_for_a_key_with_braces_of_its_own_to_tell_who_waits) {
  for (const std::string_view name : {"{orders}", "or}ders"}) {
    auto held = locks.acquire(name);
    auto waiting = others.async_acquire(name);
    ASSERT_TRUE(eventually([&] { return locks.inspect(name).waiters.size() == 1; })) << name;
    const auto before = published();
    held.release().value();
    EXPECT_EQ(published(), before + 1) << name << ": it was told nothing";
    waiting.get().release().value();
  }
}

TEST_F(redis_plain_mark, is_there_for_a_holder_that_is_to_be_evicted_so_that_its_release_clears_up) {
  auto held = locks.acquire("orders");
  ASSERT_TRUE(others.evict("orders", held.id()));
  EXPECT_TRUE(is_marked("orders"));
  ASSERT_TRUE(eventually([&] { return !held.valid(); }));
  static_cast<void>(held.release());  // lost
  EXPECT_TRUE(eventually([&] { return !is_marked("orders") && others.inspect("orders").holders.empty(); }));
}

}  // namespace
}  // namespace interlock

#endif
