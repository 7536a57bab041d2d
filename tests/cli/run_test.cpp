// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <unistd.h>

namespace cli_test {
namespace {

class run : public command_test {
 protected:
  [[nodiscard]] ended script(const strings& options, const std::string& text, const launch& how = {}) const {
    return start_script("job", options, text, how).wait();
  }
};

TEST_F(run, passes_the_exit_status_through) {
  EXPECT_EQ(interlock({"run", "x", "--", "true"}).code(), 0);
  EXPECT_EQ(interlock({"run", "x", "--", "false"}).code(), 1);
  EXPECT_EQ(script({}, "exit 42").code(), 42);
  EXPECT_EQ(script({}, "exit 75").code(), 75);
}

TEST_F(run, dies_of_the_signal_the_command_died_of) {
  for (const int signal : {SIGTERM, SIGKILL, SIGINT, SIGSEGV, SIGPIPE})
    EXPECT_EQ(script({}, "kill -" + std::to_string(signal) + " $$").signal(), signal);
}

TEST_F(run, leaves_the_standard_streams_alone) {
  const auto got = script({"--quiet"}, "echo to out; echo to err >&2");
  EXPECT_EQ(got.out, "to out\n");
  EXPECT_EQ(got.err, "to err\n");
}

TEST_F(run, tells_the_command_its_name_and_token) {
  const auto first = script({}, "echo \"$INTERLOCK_NAME $INTERLOCK_TOKEN $INTERLOCK_SEQUENCER\"");
  const auto second = script({}, "echo \"$INTERLOCK_NAME $INTERLOCK_TOKEN\"");
  ASSERT_TRUE(first.out.starts_with("job ")) << first.out << first.err;
  EXPECT_GT(std::stoull(second.out.substr(4)), std::stoull(first.out.substr(4)));
  EXPECT_NE(first.out.find("job", 4), std::string::npos) << "the sequencer names the lock: " << first.out;
}

TEST_F(run, keeps_store_passwords_from_the_command) {
  const launch how{.environment = {{"INTERLOCK_PASSWORD", "hush"}, {"INTERLOCK_STORE", "redis://me:hush@localhost/"}}};
  const auto got = interlock({"run", "x", "--store", url(), "--", "env"}, how);
  EXPECT_EQ(got.code(), 0) << got.err;
  EXPECT_EQ(got.out.find("hush"), std::string::npos);
  const auto plain = interlock({"run", "x", "--", "env"});
  EXPECT_NE(plain.out.find("INTERLOCK_STORE=" + url()), std::string::npos) << "a URL without a password is no secret";
}

TEST_F(run, leaves_no_descriptor_of_its_own_to_the_command) {
  const auto bare = process({"sh", "-c", "ls /proc/self/fd | wc -l"}).wait();
  const auto under = interlock({"run", "x", "--", "sh", "-c", "ls /proc/self/fd | wc -l"});
  EXPECT_EQ(under.out, bare.out);
}

TEST_F(run, keeps_others_out_while_the_command_runs) {
  write("count", "0\n");
  std::vector<process> all;
  for (int i = 0; i < 12; ++i)
    all.push_back(start_script("counter", {"--quiet"}, "n=$(cat count); sleep 0.01; echo $((n+1)) > count"));
  for (auto& one : all) EXPECT_EQ(one.wait().code(), 0);
  EXPECT_EQ(read("count"), "12\n");
}

TEST_F(run, many_may_be_the_first_to_use_a_store) {
  for (int round = 0; round < 4; ++round) {
    const auto fresh = "sqlite:" + file("fresh" + std::to_string(round) + ".db");
    std::vector<process> all;
    for (int i = 0; i < 10; ++i) all.push_back(start({"run", "x", "--quiet", "--store", fresh, "--", "true"}));
    for (auto& one : all) {
      const auto got = one.wait();
      EXPECT_EQ(got.code(), 0) << got.err;
    }
  }
}

TEST_F(run, says_busy_with_75_and_by_whom) {
  auto holder = start_script("job", {"--purpose", "nightly report"}, "echo $$ > pid; exec sleep 20");
  const auto pid = pid_in("pid");
  const auto tried = interlock({"try", "job", "--", "true"});
  EXPECT_EQ(tried.code(), 75);
  EXPECT_NE(tried.err.find("job is busy, held by nightly report (pid "), std::string::npos) << tried.err;
  EXPECT_EQ(interlock({"try", "job", "--quiet", "--", "true"}).err, "");
  const auto waited = interlock({"run", "job", "--wait", "150ms", "--", "true"});
  EXPECT_EQ(waited.code(), 75);
  EXPECT_GE(waited.took, 150ms);
  EXPECT_EQ(interlock({"run", "job", "--wait", "0s", "--", "true"}).code(), 75);
  ::kill(pid, SIGTERM);
  EXPECT_EQ(holder.wait().signal(), SIGTERM);
  EXPECT_EQ(interlock({"try", "job", "--", "true"}).code(), 0);
}

TEST_F(run, queues_until_the_lock_is_free) {
  auto holder = start_script("job", {}, "echo $$ > pid; sleep 0.3; echo first >> order");
  static_cast<void>(pid_in("pid"));
  const auto next = script({}, "echo second >> order");
  EXPECT_EQ(next.code(), 0);
  EXPECT_NE(next.err.find("waiting for job, held by sh (pid "), std::string::npos) << next.err;
  EXPECT_EQ(read("order"), "first\nsecond\n");
  EXPECT_EQ(holder.wait().code(), 0);
}

TEST_F(run, shares_with_readers_and_not_with_writers) {
  auto reader = start_script("book", {"--shared"}, "echo $$ > pid; exec sleep 20");
  static_cast<void>(pid_in("pid"));
  EXPECT_EQ(interlock({"try", "book", "--shared", "--", "true"}).code(), 0);
  EXPECT_EQ(interlock({"try", "book", "--", "true"}).code(), 75);
  reader.send(SIGTERM);
  EXPECT_EQ(reader.wait().signal(), SIGTERM);
}

TEST_F(run, gives_out_only_as_many_permits_as_there_are) {
  auto two = start_script("pool", {"--permits", "2/3"}, "echo $$ > pid; exec sleep 20");
  static_cast<void>(pid_in("pid"));
  EXPECT_EQ(interlock({"try", "pool", "--permits", "1/3", "--", "true"}).code(), 0);
  EXPECT_EQ(interlock({"try", "pool", "--permits", "2/3", "--", "true"}).code(), 75);
  two.send(SIGTERM);
  EXPECT_EQ(two.wait().signal(), SIGTERM);
}

TEST_F(run, ends_with_the_command_even_in_a_pipeline) {
  const auto text = std::string(INTERLOCK_COMMAND) + " run x --store " + url() + " -- echo done | cat";
  EXPECT_EQ(process({"sh", "-c", text}).wait(5s).out, "done\n");
}

TEST_F(run, works_with_the_standard_descriptors_closed) {
  const auto text = std::string(INTERLOCK_COMMAND) + " run x --store " + url() + " -- sh -c 'ls /proc/self/fd > " +
                    file("fds") + "' <&- >&- 2>&-";
  EXPECT_EQ(process({"sh", "-c", text}).wait().code(), 0);
  EXPECT_EQ(read("locks.db").substr(0, 15), "SQLite format 3") << "a message must not land in the lock file";
  EXPECT_EQ(interlock({"run", "x", "--", "true"}).code(), 0);
}

TEST_F(run, runs_a_script_without_an_interpreter_line) {
  write("plain", "echo from $0 with $1\n", 0755);
  EXPECT_EQ(interlock({"run", "x", "--", file("plain"), "this"}).out, "from " + file("plain") + " with this\n");
}

TEST_F(run, leaves_no_process_behind) {
  auto one = start_script("job", {}, "echo $$ > pid; sleep 0.2");
  static_cast<void>(pid_in("pid"));
  const auto watcher = child_named(one.pid(), "interlock-watch");
  ASSERT_TRUE(watcher);
  EXPECT_EQ(::getsid(*watcher), *watcher) << "a session of its own: terminal signals do not reach it";
  EXPECT_EQ(one.wait().code(), 0);
  EXPECT_EQ(state_of(*watcher), '\0');
}

TEST_F(run, says_which_store_it_chose_when_nobody_did) {
  const launch how{.environment = {{"INTERLOCK_STORE", std::nullopt}, {"XDG_STATE_HOME", file("state")}}};
  const auto got = interlock({"run", "x", "--", "true"}, how);
  EXPECT_EQ(got.code(), 0) << got.err;
  EXPECT_NE(got.err.find(file("state") + "/interlock/"), std::string::npos) << got.err;
  EXPECT_NE(got.err.find("this host and user only"), std::string::npos) << got.err;
  EXPECT_EQ(interlock({"run", "x", "--quiet", "--", "true"}, how).err, "");
}

}  // namespace
}  // namespace cli_test
