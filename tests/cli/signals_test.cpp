// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <array>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cli_test {
namespace {

class signals : public command_test {};

// A command that says which signal reached it.
constexpr auto listener =
    "for s in INT TERM HUP QUIT USR1 USR2 WINCH; do trap \"echo $s >> heard; [ $s = TERM ] && exit 7\" $s; done; "
    "echo $$ > pid; while :; do sleep 0.01; done";

TEST_F(signals, reach_the_command) {
  auto job = start_script("job", {}, listener);
  const auto pid = pid_in("pid");
  std::string expected;
  for (const auto& [number, name] : std::initializer_list<std::pair<int, const char*>>{{SIGINT, "INT"},
                                                                                       {SIGHUP, "HUP"},
                                                                                       {SIGQUIT, "QUIT"},
                                                                                       {SIGUSR1, "USR1"},
                                                                                       {SIGUSR2, "USR2"},
                                                                                       {SIGWINCH, "WINCH"}}) {
    job.send(number);
    expected += std::string(name) + "\n";
    ASSERT_TRUE(eventually([&] { return read("heard") == expected; })) << read("heard");
  }
  job.send(SIGTERM);
  EXPECT_EQ(job.wait().code(), 7);
  EXPECT_TRUE(dead(pid));
}

TEST_F(signals, reach_the_whole_process_group) {
  auto job = start_script("job", {}, "sleep 30 & echo $! > inner; wait");
  const auto inner = pid_in("inner");
  job.send(SIGTERM);
  EXPECT_EQ(job.wait().signal(), SIGTERM);
  EXPECT_TRUE(eventually([&] { return dead(inner); }));
}

TEST_F(signals, that_are_ignored_stay_ignored) {
  const auto text = "trap '' HUP; exec " + std::string(INTERLOCK_COMMAND) + " run x --store " + url() +
                    " -- sh -c 'echo $$ > " + file("pid") + "; exec sleep 20'";
  process job({"sh", "-c", text});
  static_cast<void>(pid_in("pid"));
  job.send(SIGHUP);
  ::usleep(100'000);
  EXPECT_NE(state_of(job.pid()), '\0');
  job.send(SIGTERM);
  EXPECT_EQ(job.wait().signal(), SIGTERM);
}

TEST_F(signals, end_a_wait_and_leave_nothing_in_the_queue) {
  auto holder = start_script("job", {}, "echo $$ > pid; exec sleep 20");
  static_cast<void>(pid_in("pid"));
  auto waiter = start({"run", "job", "--", "true"});
  ASSERT_TRUE(eventually([&] { return interlock({"show", "job"}).out.find("waits  ") != std::string::npos; }));
  waiter.send(SIGINT);
  EXPECT_EQ(waiter.wait().signal(), SIGINT);
  EXPECT_EQ(interlock({"show", "job"}).out.find("waits  "), std::string::npos);
  holder.send(SIGTERM);
  EXPECT_EQ(holder.wait().signal(), SIGTERM);
}

TEST_F(signals, stop_and_continue_both_together) {
  // One process: a shell caught between vfork and exec cannot stop, whoever asks it to.
  auto job = start_script("job", {}, "echo $$ > pid; exec sleep 0.4", {.own_group = true});
  const auto pid = pid_in("pid");
  job.send(SIGTSTP);
  ASSERT_TRUE(job.wait_stopped());
  EXPECT_EQ(state_of(pid), 'T');
  job.send(SIGCONT);
  EXPECT_TRUE(eventually([&] { return state_of(pid) != 'T'; }));
  EXPECT_EQ(job.wait().code(), 0);
}

TEST_F(signals, a_command_stopped_by_itself_keeps_its_lock) {
  auto job = start_script("job", {"--lease", "1s"}, "echo $$ > pid; sleep 0.3; echo through > end");
  const auto pid = pid_in("pid");
  ::kill(pid, SIGSTOP);
  ::usleep(1'500'000);  // longer than the lease: it is renewed all the same
  EXPECT_EQ(interlock({"try", "job", "--", "true"}).code(), 75);
  ::kill(pid, SIGCONT);
  EXPECT_EQ(job.wait().code(), 0);
}

// A terminal with a command in front of it.
class on_terminal : public command_test {
 protected:
  ~on_terminal() override {
    if (pid_ > 0) ::kill(pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
    if (master_ >= 0) ::close(master_);
  }
  void open(const strings& command) {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(master_, 0);
    ASSERT_EQ(::grantpt(master_), 0);
    ASSERT_EQ(::unlockpt(master_), 0);
    const std::string slave = ::ptsname(master_);
    strings argv{INTERLOCK_COMMAND, "run", "job", "--quiet", "--store", url(), "--"};
    argv.insert(argv.end(), command.begin(), command.end());
    std::vector<char*> args;
    for (auto& one : argv) args.push_back(one.data());
    args.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      const int fd = ::open(slave.c_str(), O_RDWR);
      ::ioctl(fd, TIOCSCTTY, 0);
      for (const int standard : {0, 1, 2}) ::dup2(fd, standard);
      ::execv(args[0], args.data());
      ::_exit(99);
    }
  }
  void type(std::string_view text) const { ASSERT_EQ(::write(master_, text.data(), text.size()), std::ssize(text)); }
  bool shows(std::string_view text) {
    return eventually([&] {
      pollfd one{master_, POLLIN, 0};
      std::array<char, 512> bytes{};
      if (::poll(&one, 1, 0) > 0)
        if (const auto got = ::read(master_, bytes.data(), bytes.size()); got > 0)
          seen_.append(bytes.data(), static_cast<std::size_t>(got));
      return seen_.find(text) != std::string::npos;
    });
  }
  int wait() {
    int status = 0;
    const bool over = eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
    EXPECT_TRUE(over) << "so far: " << seen_;
    if (over) pid_ = -1;
    return status;
  }
  [[nodiscard]] const std::string& seen() const noexcept { return seen_; }

 private:
  std::string seen_;
  int master_ = -1;
  pid_t pid_ = -1;
};

TEST_F(on_terminal, the_command_can_read_from_it) {
  open({"sh", "-c", "echo ready; read line; echo \"got:$line\""});
  ASSERT_TRUE(shows("ready")) << seen();
  type("hello\n");
  EXPECT_TRUE(shows("got:hello")) << seen();
  EXPECT_EQ(wait(), 0);
}

TEST_F(on_terminal, control_c_ends_the_command_and_us_by_the_same_signal) {
  open({"sh", "-c", "echo ready; exec sleep 20"});
  ASSERT_TRUE(shows("ready")) << seen();
  type("\x03");
  const int status = wait();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST_F(on_terminal, control_z_does_not_hang_what_nobody_could_continue) {
  open({"sh", "-c", "echo ready; exec sleep 0.5"});
  ASSERT_TRUE(shows("ready")) << seen();
  type("\x1a");
  EXPECT_EQ(wait(), 0);
}

}  // namespace
}  // namespace cli_test
