// SPDX-License-Identifier: MIT
#include <interlock/fence.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using interlock::errc;
using interlock::fenced_file;
using interlock::fencing_token;

class fenced_file_test : public testing::Test {
 protected:
  fenced_file_test() {
    std::string pattern = (fs::temp_directory_path() / "interlock-fence-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
    folder = pattern;
    path = folder / "stock";
  }
  ~fenced_file_test() override {
    std::error_code ignored;  // a leftover in the temporary directory is not this test's finding
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(folder, ignored);
  }
  [[nodiscard]] std::string content() const { return fenced_file{path}.read().value(); }
  [[nodiscard]] std::uint64_t fence() const {
    const auto highest = fenced_file{path}.highest().value();
    return highest ? highest->value() : 0;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator{folder}) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  fs::path folder, path;
};

/// Runs `work` in a process of its own; true if it said so.
template <class F>
pid_t in_child(F work) {
  const auto pid = ::fork();
  if (pid == 0) ::_exit(work() ? 0 : 1);
  return pid;
}
int status_of(pid_t pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

TEST_F(fenced_file_test, is_empty_and_unfenced_before_the_first_write) {
  EXPECT_EQ(content(), "");
  EXPECT_EQ(fence(), 0u);
  EXPECT_TRUE(files().empty()) << "reading left a file behind";
}

TEST_F(fenced_file_test, refuses_a_stale_token_and_keeps_the_later_content) {
  fenced_file file{path};
  ASSERT_TRUE(file.write(fencing_token{34}, "new"));
  const auto refused = file.write(fencing_token{33}, "late");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), errc::lost);
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(fence(), 34u);
}

TEST_F(fenced_file_test, lets_the_same_holder_write_again) {
  fenced_file file{path};
  ASSERT_TRUE(file.write(fencing_token{5}, "one"));
  ASSERT_TRUE(file.write(fencing_token{5}, "two"));
  EXPECT_EQ(content(), "two");
}

TEST_F(fenced_file_test, leaves_nothing_but_the_file_and_its_fence) {
  ASSERT_TRUE(fenced_file{path}.write(fencing_token{5}, "one"));
  EXPECT_EQ(files(), (std::vector<std::string>{"stock", "stock.fence"}));
  struct stat fence {};
  ASSERT_EQ(::stat((path.string() + ".fence").c_str(), &fence), 0);
  EXPECT_EQ(fence.st_mode & 0777, 0600u);
}

TEST_F(fenced_file_test, keeps_the_mode_of_the_file_it_replaces) {
  std::ofstream{path} << "old";
  fs::permissions(path, fs::perms{0640});
  ASSERT_TRUE(fenced_file{path}.write(fencing_token{5}, "new"));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms{0640});
}

TEST_F(fenced_file_test, refuses_numbers_that_are_no_tokens) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1} << 63, ~std::uint64_t{0}})
    EXPECT_EQ(fenced_file{path}.write(fencing_token{number}, "x").error().kind(), errc::invalid_argument);
  EXPECT_EQ(content(), "");
  EXPECT_TRUE(fenced_file{path}.write(fencing_token{9223372036854775807u}, "x"));
}

TEST_F(fenced_file_test, holds_any_bytes) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>(i);
  ASSERT_TRUE(fenced_file{path}.write(fencing_token{1}, bytes));
  EXPECT_EQ(content(), bytes);
}

TEST_F(fenced_file_test, update_by_a_stale_token_changes_nothing) {
  fenced_file file{path};
  ASSERT_TRUE(file.update(fencing_token{2}, [](std::string& text) { text += "b"; }));
  EXPECT_EQ(file.update(fencing_token{1}, [](std::string& text) { text += "a"; }).error().kind(), errc::lost);
  EXPECT_EQ(content(), "b");
}

TEST_F(fenced_file_test, a_change_that_throws_changes_nothing_and_lets_go) {
  fenced_file file{path};
  ASSERT_TRUE(file.write(fencing_token{1}, "kept"));
  EXPECT_THROW((void)file.update(fencing_token{2}, [](std::string&) { throw std::runtime_error{"no"}; }),
               std::runtime_error);
  EXPECT_EQ(fence(), 1u);
  EXPECT_TRUE(file.write(fencing_token{1}, "after"));
}

TEST_F(fenced_file_test, processes_and_threads_lose_no_update) {
  constexpr int workers = 4, rounds = 25;
  const auto count_up = [this] {
    fenced_file file{path};
    for (int i = 0; i < rounds; ++i)
      if (!file.update(fencing_token{7},
                       [](std::string& text) { text = std::to_string((text.empty() ? 0 : std::stoi(text)) + 1); }))
        return false;
    return true;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < workers; ++i) children.push_back(in_child(count_up));
  {
    std::jthread first{[&] { EXPECT_TRUE(count_up()); }}, second{[&] { EXPECT_TRUE(count_up()); }};
  }
  for (const auto child : children) EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(content(), std::to_string((workers + 2) * rounds));
}

TEST_F(fenced_file_test, a_writer_that_died_after_raising_the_fence_still_shuts_out_older_ones) {
  ASSERT_TRUE(fenced_file{path}.write(fencing_token{3}, "three"));
  std::ofstream{path.string() + ".fence"} << "0000000000000000005\n";  // what is on the disk between the two steps
  std::ofstream{path.string() + ".next"} << "fi";
  EXPECT_EQ(content(), "three");
  EXPECT_EQ(fenced_file{path}.write(fencing_token{4}, "four").error().kind(), errc::lost);
  EXPECT_TRUE(fenced_file{path}.write(fencing_token{5}, "five"));
  EXPECT_EQ(content(), "five");
  EXPECT_EQ(files(), (std::vector<std::string>{"stock", "stock.fence"}));
}

TEST_F(fenced_file_test, killed_at_any_moment_leaves_whole_content_and_a_fence_as_high_as_its_writer) {
  std::mt19937 random{7};  // NOLINT: the moments differ by themselves
  std::uint64_t start = 1;
  for (int round = 0; round < 20; ++round) {
    const auto child = in_child([&] {
      fenced_file file{path};
      for (auto token = start;; ++token) {
        const auto text = std::to_string(token);
        if (!file.write(fencing_token{token}, text + std::string(5'000, ' ') + text)) return false;
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds{2'000 + random() % 5'000});
    ::kill(child, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(status_of(child))) << "a write failed";
    const auto text = content();
    if (text.empty()) continue;
    const auto first = text.substr(0, text.find(' ')), last = text.substr(text.rfind(' ') + 1);
    EXPECT_EQ(first, last) << "torn content";
    EXPECT_GE(fence(), std::stoull(first));
    start = fence() + 1;
  }
  EXPECT_GT(start, 1u) << "nothing was ever written";
}

TEST_F(fenced_file_test, dying_inside_a_change_frees_the_file_at_once) {
  ASSERT_TRUE(fenced_file{path}.write(fencing_token{1}, "kept"));
  const auto child = in_child([&] {
    (void)fenced_file{path}.update(fencing_token{2}, [](std::string&) { ::_exit(9); });
    return true;
  });
  EXPECT_EQ(WEXITSTATUS(status_of(child)), 9);
  EXPECT_EQ(fence(), 1u);
  EXPECT_TRUE(fenced_file{path}.write(fencing_token{1}, "again"));
}

TEST_F(fenced_file_test, a_disk_that_is_full_is_unavailable_and_changes_nothing) {
  ASSERT_TRUE(fenced_file{path}.write(fencing_token{1}, "kept"));
  const auto child = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto reply = fenced_file{path}.write(fencing_token{2}, std::string(10'000, 'x'));
    return !reply && reply.error() == errc::unavailable;
  });
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(content(), "kept");
  EXPECT_EQ(fence(), 1u);
  EXPECT_EQ(files(), (std::vector<std::string>{"stock", "stock.fence"}));
}

TEST_F(fenced_file_test, a_fence_that_could_not_be_written_whole_does_not_shut_the_file) {
  const auto child = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit tiny{10, 10};  // room for the content, not for the fence
    ::setrlimit(RLIMIT_FSIZE, &tiny);
    const auto reply = fenced_file{path}.write(fencing_token{2}, "short");
    return !reply && reply.error() == errc::unavailable;
  });
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(content(), "");
  EXPECT_TRUE(fenced_file{path}.write(fencing_token{1}, "fine"));
}

TEST_F(fenced_file_test, an_unwritable_directory_is_unavailable_and_changes_nothing) {
  constexpr uid_t nobody = 65534;  // root may write anywhere, so the child is somebody else
  const bool root = ::geteuid() == 0;
  ASSERT_TRUE(!root || ::chown(folder.c_str(), nobody, nobody) == 0);
  const auto child = in_child([&] {
    if (root && ::setresuid(nobody, nobody, nobody) != 0) return false;
    if (!fenced_file{path}.write(fencing_token{1}, "kept")) return false;
    fs::permissions(folder, fs::perms{0500});
    const auto reply = fenced_file{path}.write(fencing_token{2}, "new");
    return !reply && reply.error() == errc::unavailable;
  });
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(content(), "kept");
  EXPECT_EQ(fence(), 1u);
}

TEST_F(fenced_file_test, a_missing_directory_is_unavailable_and_is_not_made) {
  fenced_file file{folder / "absent" / "stock"};
  EXPECT_EQ(file.write(fencing_token{1}, "x").error().kind(), errc::unavailable);
  EXPECT_FALSE(fs::exists(folder / "absent"));
}

TEST_F(fenced_file_test, a_directory_in_the_files_place_is_unavailable_and_raises_nothing) {
  fs::create_directory(path);
  EXPECT_EQ(fenced_file{path}.write(fencing_token{1}, "x").error().kind(), errc::unavailable);
  EXPECT_EQ(fence(), 0u);
}

TEST_F(fenced_file_test, a_link_in_the_fences_place_is_not_followed) {
  fs::create_symlink(folder / "elsewhere", path.string() + ".fence");
  EXPECT_EQ(fenced_file{path}.write(fencing_token{1}, "x").error().kind(), errc::unavailable);
  EXPECT_FALSE(fs::exists(folder / "elsewhere"));
}

TEST_F(fenced_file_test, a_damaged_fence_refuses_everybody_rather_than_guess) {
  for (const auto* damage : {"x", "33", "0000000000000000000\n", "-000000000000000005\n", "9999999999999999999\n"}) {
    std::ofstream{path.string() + ".fence"} << damage;
    EXPECT_EQ(fenced_file{path}.write(fencing_token{7}, "x").error().kind(), errc::unavailable) << damage;
    EXPECT_FALSE(fenced_file{path}.highest()) << damage;
  }
  EXPECT_EQ(content(), "");
}

}  // namespace
