// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <nlohmann/json.hpp>

#include <array>

#include <fcntl.h>
#include <unistd.h>

namespace cli_test {
namespace {

using nlohmann::json;

class listing : public command_test {
 protected:
  [[nodiscard]] json parsed(const strings& arguments) const {
    const auto got = interlock(arguments);
    EXPECT_EQ(got.code(), 0) << got.err;
    return json::parse(got.out);
  }
  [[nodiscard]] process hold(std::string_view name, const strings& options = {}) const {
    auto held = start_script(name, options, "echo $$ > pid; exec sleep 30");
    static_cast<void>(pid_in("pid"));
    return held;
  }
  [[nodiscard]] process queue_for(std::string_view name) const {
    auto waiter = start({"run", std::string(name), "--", "true"});
    EXPECT_TRUE(eventually([&] { return !parsed({"show", std::string(name), "--json"})["waiters"].empty(); }));
    return waiter;
  }
};

TEST_F(listing, of_an_empty_store_is_empty) {
  const auto all = parsed({"ls", "--json"});
  EXPECT_EQ(all["locks"], json::array());
  EXPECT_NE(all["store"].get<std::string>().find("sqlite:"), std::string::npos);
  EXPECT_EQ(interlock({"show", "x"}).out, "x: free\n");
}

TEST_F(listing, shows_holders_and_waiters) {
  auto holder = hold("billing/nightly", {"--purpose", "the report", "--lease", "20s"});
  auto waiter = queue_for("billing/nightly");
  const auto all = parsed({"ls", "billing/", "--json"});
  ASSERT_EQ(all["locks"].size(), 1U) << all;
  const auto lock = all["locks"][0];
  EXPECT_EQ(lock["name"], "billing/nightly");
  EXPECT_EQ(lock["limit"], 1);
  ASSERT_EQ(lock["holders"].size(), 1U);
  const auto held = lock["holders"][0];
  EXPECT_EQ(held["mode"], "exclusive");
  EXPECT_EQ(held["purpose"], "the report");
  EXPECT_EQ(held["pid"], holder.pid());
  EXPECT_EQ(held["permits"], 1);
  EXPECT_EQ(held["id"].get<std::string>().size(), 32U);
  EXPECT_GT(std::stoull(held["token"].get<std::string>()), 0U);
  EXPECT_GT(held["lease_left_ms"].get<int>(), 10'000);
  EXPECT_GE(held["age_ms"].get<int>(), 0);
  EXPECT_FALSE(held["host"].get<std::string>().empty());
  ASSERT_EQ(lock["waiters"].size(), 1U);
  EXPECT_EQ(lock["waiters"][0]["pid"], waiter.pid());
  EXPECT_TRUE(lock["waiters"][0]["token"].is_null());
  EXPECT_EQ(parsed({"ls", "other", "--json"})["locks"], json::array());
  EXPECT_EQ(parsed({"show", "billing/nightly", "--json"})["holders"][0]["id"], held["id"]);
  holder.send(SIGTERM);
  EXPECT_EQ(waiter.wait().code(), 0);
}

TEST_F(listing, is_a_table_for_people) {
  auto holder = hold("pool", {"--permits", "2/3"});
  const auto got = interlock({"ls"});
  EXPECT_TRUE(got.out.starts_with("NAME")) << got.out;
  EXPECT_NE(got.out.find("2/3"), std::string::npos) << got.out;
  EXPECT_NE(got.out.find("(pid " + std::to_string(holder.pid())), std::string::npos) << got.out;
}

TEST_F(listing, shows_no_terminal_tricks_in_names) {
  auto holder = hold("a\xc2\x9b"
                     "31m\xe2\x80\xae"
                     "b");
  const auto got = interlock({"ls"});
  EXPECT_NE(got.out.find("a\\xc2\\x9b31m\\xe2\\x80\\xaeb"), std::string::npos) << got.out;
  EXPECT_EQ(parsed({"ls", "--json"})["locks"][0]["name"], "a\xc2\x9b"
                                                          "31m\xe2\x80\xae"
                                                          "b");
}

class breaking : public listing {};

TEST_F(breaking, by_force_ends_the_claim_now_and_the_command_with_it) {
  auto holder = hold("job", {"--lease", "20s"});
  const auto id = parsed({"show", "job", "--json"})["holders"][0]["id"].get<std::string>();
  const auto got = interlock({"break", "job", "--handle", id.substr(0, 8), "--force"});
  EXPECT_EQ(got.code(), 0) << got.err;
  EXPECT_NE(got.err.find("only the fencing token protects"), std::string::npos) << got.err;
  EXPECT_EQ(holder.wait(15s).code(), 76);
  EXPECT_EQ(interlock({"try", "job", "--", "true"}).code(), 0);
}

TEST_F(breaking, gently_lets_the_lease_run_out_first) {
  auto holder = hold("job", {"--lease", "2s"});
  const auto id = parsed({"show", "job", "--json"})["holders"][0]["id"].get<std::string>();
  const auto got = interlock({"break", "job", "--handle", id, "--json"});
  ASSERT_EQ(got.code(), 0) << got.err;
  const auto told = json::parse(got.out);
  EXPECT_EQ(told["broken"], true);
  EXPECT_EQ(told["id"], id);
  EXPECT_EQ(holder.wait(10s).code(), 76);
  EXPECT_EQ(interlock({"run", "job", "--wait", "5s", "--", "true"}).code(), 0);
}

TEST_F(breaking, takes_a_waiter_out_of_the_queue) {
  auto holder = hold("job");
  auto waiter = queue_for("job");
  const auto id = parsed({"show", "job", "--json"})["waiters"][0]["id"].get<std::string>();
  EXPECT_EQ(interlock({"break", "job", "--handle", id, "--force"}).code(), 0);
  EXPECT_EQ(waiter.wait(10s).code(), 76);
  EXPECT_EQ(interlock({"try", "job", "--", "true"}).code(), 75) << "the holder is not touched";
}

TEST_F(breaking, what_is_gone_is_exit_1) {
  const auto got = interlock({"break", "job", "--handle", "0123456789abcdef0123456789abcdef"});
  EXPECT_EQ(got.code(), 1);
  EXPECT_NE(got.err.find("nothing broken"), std::string::npos) << got.err;
}

class status : public command_test {
 protected:
  [[nodiscard]] std::vector<json> events(const strings& arguments, int code) const {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    auto one = start(arguments, {.status_fd = ends[1]});
    ::close(ends[1]);
    EXPECT_EQ(one.wait().code(), code);
    std::string text(65536, '\0');
    std::size_t size = 0;
    for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
      got = ::read(ends[0], text.data() + size, text.size() - size);
    ::close(ends[0]);
    std::vector<json> out;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) < size; at = end + 1)
      out.push_back(json::parse(text.substr(at, end - at)));
    return out;
  }
};

TEST_F(status, tells_the_commands_exit_from_ours) {
  const auto lines = events({"run", "x", "--status-fd", "9", "--", "sh", "-c", "exit 75"}, 75);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["event"], "acquired");
  EXPECT_EQ(lines[0]["name"], "x");
  EXPECT_GT(std::stoull(lines[0]["token"].get<std::string>()), 0U);
  EXPECT_EQ(lines[1], (json{{"event", "child"}, {"exit", 75}}));
  EXPECT_EQ(lines[2], (json{{"event", "released"}}));
}

TEST_F(status, names_the_signal) {
  const auto lines = events({"run", "x", "--status-fd=9", "--", "sh", "-c", "kill -TERM $$"}, 128 + SIGTERM);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], (json{{"event", "child"}, {"signal", SIGTERM}}));
}

TEST_F(status, says_busy) {
  auto holder = start_script("x", {}, "echo $$ > pid; exec sleep 30");
  static_cast<void>(pid_in("pid"));
  const auto lines = events({"try", "x", "--status-fd", "9", "--", "true"}, 75);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["event"], "busy");
}

TEST_F(status, says_lost) {
  const auto lines =
      events({"run", "x", "--lease", "1s", "--max-hold", "1s", "--status-fd", "9", "--", "sleep", "30"}, 76);
  ASSERT_GE(lines.size(), 3U);
  EXPECT_EQ(lines[1]["event"], "lost");
  EXPECT_EQ(lines[2]["event"], "child");
}

class doctor : public listing {};

TEST_F(doctor, finds_a_fresh_sqlite_file_fit) {
  const auto got = parsed({"doctor", "--json"});
  EXPECT_EQ(got["fit"], true) << got;
  std::map<std::string, std::string> verdicts;
  for (const auto& one : got["checks"]) verdicts[one["check"]] = one["verdict"];
  for (const auto* check : {"reachable", "guarantee", "shared", "permits", "fifo", "push", "lease", "round trip",
                            "token", "hand-over", "file", "file mode"})
    EXPECT_EQ(verdicts[check], "ok") << check << ": " << got;
  EXPECT_TRUE(verdicts.contains("file system"));
  EXPECT_EQ(parsed({"ls", "--json"})["locks"], json::array()) << "an examination leaves nothing held";
}

TEST_F(doctor, says_that_memory_is_private) {
  const auto got = parsed({"doctor", "memory:", "--json"});
  EXPECT_EQ(got["fit"], true);
  EXPECT_NE(got.dump().find("private to one process"), std::string::npos);
}

TEST_F(doctor, finds_a_file_that_is_no_database_unfit) {
  write("noise", std::string(8192, 'x'));
  const auto got = interlock({"doctor", "sqlite:" + file("noise")});
  EXPECT_EQ(got.code(), 69) << got.out << got.err;
  EXPECT_NE(got.out.find("FAIL"), std::string::npos) << got.out;
  EXPECT_EQ(read("noise"), std::string(8192, 'x'));
}

TEST_F(doctor, warns_of_a_file_others_can_change) {
  EXPECT_EQ(interlock({"ls"}).code(), 0);
  std::filesystem::permissions(file("locks.db"), std::filesystem::perms{0660});
  const auto got = interlock({"doctor"});
  EXPECT_NE(got.out.find("chmod go-w"), std::string::npos) << got.out << got.err;
}

TEST_F(listing, version_names_the_stores) {
  const auto got = parsed({"version", "--json"});
  EXPECT_FALSE(got["version"].get<std::string>().empty());
  EXPECT_NE(std::find(got["stores"].begin(), got["stores"].end(), "sqlite"), got["stores"].end()) << got;
  EXPECT_EQ(interlock({"--version"}).code(), 0);
}

}  // namespace
}  // namespace cli_test
