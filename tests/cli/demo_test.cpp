// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#if defined(INTERLOCK_COMMAND) && defined(INTERLOCK_WITH_SQLITE)
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// `interlock demo` with a temporary directory of its own, and what it prints.
class demo_test : public testing::Test {
 protected:
  demo_test() {
    auto pattern = (fs::temp_directory_path() / "interlock-demo-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
    folder = pattern;
  }
  ~demo_test() override {
    if (pid > 0) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
    if (output >= 0) ::close(output);
    std::error_code ignored;  // a leftover in the temporary directory is not this test's finding
    fs::remove_all(folder, ignored);
  }

  void start(const char* locale, const fs::path& place) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    pid = ::fork();
    if (pid == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::setenv("TMPDIR", place.c_str(), 1);
      ::setenv("LC_ALL", locale, 1);
      ::execl(INTERLOCK_COMMAND, "interlock", "demo", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ends[1]);
    output = ends[0];
  }
  std::string read_some() const {
    std::array<char, 4096> part{};
    const auto got = ::read(output, part.data(), part.size());
    return got > 0 ? std::string(part.data(), static_cast<std::size_t>(got)) : std::string{};
  }
  std::string read_all() const {
    std::string text;
    for (auto part = read_some(); !part.empty(); part = read_some()) text += part;
    return text;
  }
  int status() {
    int ended = -1;
    ::waitpid(pid, &ended, 0);
    pid = -1;
    return ended;
  }

  fs::path folder;
  pid_t pid = -1;
  int output = -1;
};

TEST_F(demo_test, plays_all_acts_in_plain_text_and_leaves_nothing_behind) {
  start("C", folder);
  const auto text = read_all();
  EXPECT_EQ(status(), 0) << text;
  EXPECT_THAT(text, HasSubstr("[ok] without a lock "));
  EXPECT_THAT(text, HasSubstr("[ok] with interlock 0 of 4000 updates were lost"));
  EXPECT_THAT(text, HasSubstr(" s after the kill (lease 3 s)"));
  EXPECT_THAT(text, HasSubstr("[ok] the late write was refused by its token"));
  EXPECT_THAT(text, HasSubstr("readers were in together, the writer met nobody"));
  EXPECT_THAT(text, HasSubstr("[ok] 5 of 5 acts went as they should"));
  EXPECT_THAT(text, Not(HasSubstr("[FAILED]")));
  for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << "not plain ASCII: " << int{c};
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(demo_test, interrupted_it_ends_soon_and_leaves_nothing_behind) {
  start("C.UTF-8", folder);
  ASSERT_THAT(read_some(), HasSubstr("interlock demo"));
  std::this_thread::sleep_for(std::chrono::milliseconds{500});  // in the middle of an act, wherever
  EXPECT_FALSE(fs::is_empty(folder));
  const auto asked = std::chrono::steady_clock::now();
  ::kill(pid, SIGINT);
  const auto text = read_all();  // ends when the last actor has closed its end, too
  EXPECT_EQ(WEXITSTATUS(status()), 128 + SIGINT) << text;
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds{5});
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(demo_test, without_a_place_to_work_it_fails_and_plays_nothing) {
  start("C", folder / "absent");
  const auto text = read_all();
  EXPECT_EQ(WEXITSTATUS(status()), 1);
  EXPECT_THAT(text, Not(HasSubstr("[ok]")));
}

}  // namespace
#endif
