// SPDX-License-Identifier: MIT
// The server that other tests lean on: it starts, falls silent, comes back, and is gone afterwards.
#include "support/redis_server.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace interlock::test_support {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Nobody may have asked for its exit status yet.
bool exists(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/stat");
  std::string id, name, state;
  return (status >> id >> name >> state) && state != "Z" && state != "X";
}

template <class Action>
std::string words_of_failure(Action&& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no failure";
}

TEST(temporary_folder, of_a_killed_test_is_removed_by_a_later_one) {
  const auto what = "sweep-" + std::to_string(getpid());
  const temporary_folder used(what);
  const auto beside = [&](const char* suffix) { return used.path().parent_path() / ("interlock-" + what + suffix); };
  const auto left = beside("-left"), fresh = beside("-fresh");
  for (const auto& folder : {left, fresh}) std::filesystem::create_directory(folder);
  for (const auto& folder : {used.path(), left}) {
    std::filesystem::last_write_time(folder, std::filesystem::file_time_type::clock::now() - 1h);
  }
  const temporary_folder later(what);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(fresh)) << "somebody may be about to use it";
  EXPECT_TRUE(std::filesystem::exists(used.path()));
  std::filesystem::remove(fresh);
}

TEST(server_process, is_gone_with_its_object_and_so_is_its_folder) {
  auto server = std::make_unique<redis_server>();
  const auto pid = server->process().pid();
  const auto folder = server->process().folder();
  ASSERT_TRUE(exists(pid));
  ASSERT_TRUE(std::filesystem::exists(folder));
  server.reset();
  EXPECT_FALSE(exists(pid));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(server_process, is_gone_when_the_test_is_killed) {
  std::array<int, 2> report{};
  ASSERT_EQ(pipe(report.data()), 0);
  const auto child = fork();
  if (child == 0) {
    try {
      redis_server server;
      const auto text = std::to_string(server.process().pid()) + " " + server.process().folder().string();
      if (write(report[1], text.data(), text.size()) > 0) raise(SIGKILL);
    } catch (const std::runtime_error&) {
      _exit(1);
    }
    _exit(1);
  }
  close(report[1]);
  waitpid(child, nullptr, 0);
  std::array<char, 1'000> text{};
  ASSERT_GT(read(report[0], text.data(), text.size() - 1), 0);
  close(report[0]);
  std::istringstream words(text.data());
  pid_t server = 0;
  std::string folder;
  words >> server >> folder;
  EXPECT_TRUE(eventually([&] { return !exists(server); }));
  std::filesystem::remove_all(folder);
}

TEST(server_process, outlives_the_thread_that_started_it) {
  redis_server server;
  std::thread([&] { server.restart(); }).join();
  std::this_thread::sleep_for(50ms);  // the kernel would have killed it at once
  EXPECT_TRUE(server.running());
  EXPECT_EQ(server.command({"PING"}), "PONG");
}

TEST(server_process, that_is_not_installed_fails_the_test_in_so_many_words) {
  EXPECT_THAT(words_of_failure([] { const server_process none("interlock-no-such-server"); }),
              HasSubstr("is not installed"));
}

TEST(server_process, that_does_not_start_tells_the_end_of_its_log) {
  EXPECT_THAT(words_of_failure([] { const redis_server bad({.config = {"no-such-setting yes"}}); }),
              HasSubstr("no-such-setting"));
}

TEST(redis_server, comes_back_on_its_port_with_what_it_kept_on_disk) {
  redis_server keeps({.config = {"appendonly yes", "appendfsync always"}}), forgets;
  for (auto* const server : {&keeps, &forgets}) {
    server->command({"SET", "key", "value"});
    server->kill();
    EXPECT_THROW(redis_peek(server->port()), std::runtime_error);
    server->restart();
    EXPECT_EQ(redis_peek(server->port()).command({"PING"}), "PONG");
  }
  EXPECT_EQ(keeps.command({"GET", "key"}), "value");
  EXPECT_TRUE(forgets.command({"GET", "key"}).nil());
}

TEST(redis_server, says_nothing_while_frozen) {
  redis_server server;
  server.freeze();
  redis_peek peek(server.port());
  peek.send({"PING"});
  EXPECT_THROW(peek.receive(100ms), std::runtime_error);
  server.thaw();
  EXPECT_EQ(peek.receive(), "PONG");
}

TEST(redis_server, can_ask_for_passwords) {
  redis_server server({.password = "open", .users = {"reader on >sesame ~a* +get"}});
  redis_peek peek(server.port());
  EXPECT_THAT(peek.ask({"GET", "a"}).text, HasSubstr("NOAUTH"));
  EXPECT_EQ(peek.command({"AUTH", "open"}), "OK");
  EXPECT_EQ(peek.command({"SET", "a", "1"}), "OK");
  EXPECT_EQ(peek.command({"AUTH", "reader", "sesame"}), "OK");
  EXPECT_EQ(peek.command({"GET", "a"}), "1");
  EXPECT_THAT(peek.ask({"SET", "a", "1"}).text, HasSubstr("NOPERM"));
}

TEST(redis_server, counts_what_it_was_asked) {
  redis_server server;
  for (int times = 0; times < 3; ++times) server.command({"GET", "key"});
  EXPECT_EQ(server.commandstats()["get"].calls, 3);
  EXPECT_GE(server.commandstats()["get"].usec, 0);
  EXPECT_EQ(server.info("server")["tcp_port"], std::to_string(server.port()));
}

int shell(const std::string& line) { return std::system(("{ " + line + "; } >/dev/null 2>&1").c_str()); }

TEST(redis_server, speaks_tls) {
  const auto& made = certificates::get();
  redis_server server({.tls = made.good});
  const auto ask = [&](const certificate& trusted) {
    return shell("redis-cli --tls --cacert " + trusted.authority.string() + " -h localhost -p " +
                 std::to_string(server.tls_port()) + " ping | grep -q PONG");
  };
  EXPECT_EQ(ask(made.good), 0);
  EXPECT_NE(ask(made.stranger), 0);
}

TEST(certificates, are_good_and_bad_as_they_say) {
  const auto& made = certificates::get();
  const auto verify = [&](const certificate& one) {
    return shell("openssl verify -CAfile " + made.good.authority.string() + " -verify_hostname localhost " +
                 one.file.string());
  };
  EXPECT_EQ(verify(made.good), 0);
  EXPECT_NE(verify(made.expired), 0);
  EXPECT_NE(verify(made.wrong_host), 0);
  EXPECT_NE(verify(made.stranger), 0);
}

}  // namespace
}  // namespace interlock::test_support
