// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <unistd.h>

namespace cli_test {
namespace {

// The command must be dead before anybody else can have the lock, whatever became of its parent.
class loss : public command_test {
 protected:
  // Says, the moment it has the lock, how the process in `pid` is doing: "Z" (dead, not reaped), "gone", or alive.
  [[nodiscard]] std::string seen_by_the_next() const {
    auto next = start_script("job", {"--wait", "15s", "--quiet"},
                             "cut -d' ' -f3 /proc/$(cat pid)/stat 2>/dev/null || echo gone");
    const auto got = next.wait();
    EXPECT_EQ(got.code(), 0) << got.err;
    return got.out;
  }
  static constexpr auto stubborn = "trap '' TERM; echo $$ > pid; while :; do sleep 0.01; done";
  static constexpr auto polite = "trap 'echo bye > last; exit 0' TERM; echo $$ > pid; while :; do sleep 0.01; done";
};

bool is_dead(const std::string& seen) { return seen == "Z\n" || seen == "gone\n"; }

TEST_F(loss, a_frozen_parent_does_not_keep_the_command_alive) {
  auto job = start_script("job", {"--lease", "1s"}, stubborn);
  static_cast<void>(pid_in("pid"));
  job.send(SIGSTOP);
  const auto seen = seen_by_the_next();
  EXPECT_TRUE(is_dead(seen)) << seen;
  job.send(SIGCONT);
  const auto got = job.wait();
  EXPECT_EQ(got.code(), 76);
  EXPECT_NE(got.err.find("lost job"), std::string::npos) << got.err;
}

TEST_F(loss, a_killed_parent_does_not_keep_the_command_alive) {
  auto job = start_script("job", {"--lease", "1s"}, stubborn);
  static_cast<void>(pid_in("pid"));
  const auto watcher = child_named(job.pid(), "interlock-watch");
  ASSERT_TRUE(watcher);
  job.send(SIGKILL);
  const auto seen = seen_by_the_next();
  EXPECT_TRUE(is_dead(seen)) << seen;
  EXPECT_EQ(job.wait().signal(), SIGKILL);
  EXPECT_TRUE(eventually([&] { return dead(*watcher); })) << "the watcher goes when its work is done";
}

TEST_F(loss, the_command_is_asked_before_it_is_killed) {
  auto job = start_script("job", {"--lease", "2s"}, polite);
  static_cast<void>(pid_in("pid"));
  job.send(SIGSTOP);
  EXPECT_TRUE(is_dead(seen_by_the_next()));
  EXPECT_EQ(read("last"), "bye\n");
  job.send(SIGCONT);
  EXPECT_EQ(job.wait().code(), 76);
}

TEST_F(loss, an_orphan_is_asked_at_once) {
  auto job = start_script("job", {"--lease", "20s"}, polite);
  const auto pid = pid_in("pid");
  job.send(SIGKILL);
  EXPECT_TRUE(eventually([&] { return dead(pid); }, 5s));
  EXPECT_EQ(read("last"), "bye\n");
}

TEST_F(loss, reaches_processes_the_command_has_started) {
  auto job = start_script("job", {"--lease", "1s"}, "trap '' TERM; sleep 60 & echo $! > pid; wait; sleep 60");
  const auto inner = pid_in("pid");
  job.send(SIGSTOP);
  EXPECT_TRUE(is_dead(seen_by_the_next()));
  EXPECT_TRUE(dead(inner));
  job.send(SIGCONT);
  EXPECT_EQ(job.wait().code(), 76);
}

TEST_F(loss, a_hung_command_ends_at_max_hold) {
  auto job = start_script("job", {"--lease", "1s", "--max-hold", "1200ms"}, stubborn);
  const auto got = job.wait();
  EXPECT_EQ(got.code(), 76);
  EXPECT_GT(got.took, 500ms);
  EXPECT_LT(got.took, 6s);
}

TEST_F(loss, a_killed_watcher_is_reported) {
  auto job = start_script("job", {"--lease", "500ms"}, "echo $$ > pid; sleep 0.6");
  static_cast<void>(pid_in("pid"));
  const auto watcher = child_named(job.pid(), "interlock-watch");
  ASSERT_TRUE(watcher);
  ::kill(*watcher, SIGKILL);
  const auto got = job.wait();
  EXPECT_EQ(got.code(), 0);
  EXPECT_NE(got.err.find("watcher process was killed"), std::string::npos) << got.err;
}

TEST_F(loss, a_parent_held_up_for_less_than_the_lease_loses_nothing) {
  auto job = start_script("job", {"--lease", "3s"}, "echo $$ > pid; sleep 1.5; echo through > end");
  static_cast<void>(pid_in("pid"));
  job.send(SIGSTOP);
  ::usleep(700'000);
  job.send(SIGCONT);
  EXPECT_EQ(job.wait().code(), 0);
  EXPECT_EQ(read("end"), "through\n");
}

}  // namespace
}  // namespace cli_test
