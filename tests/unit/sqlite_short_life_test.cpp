// SPDX-License-Identifier: MIT
// A process that expects to end soon makes its socket late. Whoever lives longer must not notice.
#include "support/sqlite_harness.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <thread>

namespace interlock::test {
namespace {

struct sqlite_short_life_test : ::testing::Test {
  scratch_folder folder;
  std::string url = "sqlite:" + folder.file();

  [[nodiscard]] bool sockets() const { return !std::filesystem::is_empty(folder.file() + "-wake"); }

  /// In a process of its own, because the expectation is for ever. 0: `body` was content.
  template <class Body>
  static int in_short_life(Body body) {
    const auto child = fork();
    if (child == 0) {
      sqlite_store::expect_short_life();
      _exit(body());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

bool soon(const guard& held) {
  for (const auto end = boot_clock::now() + 5s; boot_clock::now() < end; std::this_thread::sleep_for(1ms))
    if (!held.valid()) return true;
  return false;
}

TEST_F(sqlite_short_life_test, a_lock_held_for_a_moment_makes_no_socket) {
  EXPECT_LT(in_short_life([&] {
              int with = 0;  // a machine that stands still for 20 ms makes one
              for (int i = 0; i < 20; ++i) {
                const client locks{url};
                const auto held = locks.acquire("n");
                with += sockets() ? 1 : 0;
              }
              return with;
            }),
            20);
  EXPECT_FALSE(sockets());
}

TEST_F(sqlite_short_life_test, a_holder_evicted_before_it_has_a_socket_is_told_all_the_same) {
  EXPECT_EQ(in_short_life([&] {
              const client locks{url}, other{url};
              const auto held = locks.acquire("n", {.lease = 60s});
              if (!other.evict("n", held.id())) return 1;
              return soon(held) && held.why_lost() == loss_reason::broken ? 0 : 2;
            }),
            0);
  EXPECT_FALSE(sockets());
}

TEST_F(sqlite_short_life_test, also_if_it_was_evicted_by_force) {
  EXPECT_EQ(in_short_life([&] {
              const client locks{url}, other{url};
              const auto held = locks.acquire("n", {.lease = 60s});
              if (!other.evict_by_force("n", held.id())) return 1;
              return soon(held) ? 0 : 2;
            }),
            0);
}

TEST_F(sqlite_short_life_test, a_holder_evicted_later_is_told_through_the_socket) {
  EXPECT_EQ(in_short_life([&] {
              const client locks{url}, other{url};
              const auto held = locks.acquire("n", {.lease = 60s});
              for (const auto end = boot_clock::now() + 5s; !sockets(); std::this_thread::sleep_for(1ms))
                if (boot_clock::now() > end) return 3;
              if (!other.evict("n", held.id())) return 1;
              return soon(held) && held.why_lost() == loss_reason::broken ? 0 : 2;
            }),
            0);
  EXPECT_FALSE(sockets());
}

TEST_F(sqlite_short_life_test, waiters_are_told_at_once) {
  EXPECT_EQ(in_short_life([&] {
              const client locks{url}, other{url};
              for (int i = 0; i < 5; ++i) {
                auto held = locks.acquire("n", {.lease = 60s});
                auto later = other.async_acquire("n", {.lease = 60s, .wait = 5s});
                std::this_thread::sleep_for(std::chrono::milliseconds{10 * i});
                if (!held.release()) return 1;
                if (!later.get_result()) return 2;
              }
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace interlock::test
