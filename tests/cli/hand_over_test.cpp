// SPDX-License-Identifier: MIT
// The small command has no store on the network: it becomes the program that has them.
#if defined(INTERLOCK_COMMAND) && defined(INTERLOCK_WITH_REDIS)

#include "command.hpp"

#include "support/redis_server.hpp"

namespace {

using cli_test::eventually;
using cli_test::launch;
using cli_test::process;
using cli_test::read_file;
using interlock::test_support::redis_server;

class hand_over : public cli_test::command_test {};

TEST_F(hand_over, a_store_on_the_network_is_reached_by_option_and_by_environment) {
  const redis_server server;
  const auto at = server.url();
  const auto by_option =
      process({INTERLOCK_COMMAND, "run", "x", "--quiet", "--store", at, "--", "sh", "-c", "echo $INTERLOCK_NAME"})
          .wait();
  EXPECT_EQ(by_option.code(), 0) << by_option.err;
  EXPECT_EQ(by_option.out, "x\n");

  launch how;
  how.environment["INTERLOCK_STORE"] = at;
  const auto by_environment = process({INTERLOCK_COMMAND, "run", "x", "--quiet", "--", "echo", "in"}, how).wait();
  EXPECT_EQ(by_environment.code(), 0) << by_environment.err;
  EXPECT_EQ(by_environment.out, "in\n");
}

TEST_F(hand_over, names_the_version_and_all_stores) {
  const auto got = process({INTERLOCK_COMMAND, "version"}).wait();
  EXPECT_EQ(got.code(), 0);
  for (const auto* store : {" memory", " redis", " sqlite"})
    EXPECT_NE(got.out.find(store), std::string::npos) << got.out;
}

TEST_F(hand_over, a_password_is_blotted_out_by_the_second_program_too) {
  const redis_server server({.password = "hush"});
  ASSERT_NE(server.url().find("hush"), std::string::npos);
  process held({INTERLOCK_COMMAND, "run", "x", "--quiet", "--store", server.url(), "--", "sh", "-c",
                "echo started > " + file("started") + "; sleep 20"});
  const auto command_line = [&] { return read_file("/proc/" + std::to_string(held.pid()) + "/cmdline"); };
  ASSERT_TRUE(eventually([&] { return !read("started").empty(); }));
  EXPECT_EQ(command_line().find("hush"), std::string::npos);
  EXPECT_NE(command_line().find("****"), std::string::npos);
  held.send(SIGTERM);
  held.wait();
}

TEST_F(hand_over, without_the_second_program_says_where_it_should_be) {
  const auto alone = file("interlock");
  std::filesystem::copy_file(INTERLOCK_COMMAND, alone);
  const auto here = process({alone, "run", "x", "--store", url(), "--", "true"}).wait();
  EXPECT_EQ(here.code(), 0) << here.err;
  const auto elsewhere = process({alone, "ls", "--store", "redis://127.0.0.1:1"}).wait();
  EXPECT_EQ(elsewhere.code(), 69);
  if (elsewhere.err.find("interlock-network") == std::string::npos)
    EXPECT_NE(elsewhere.err.find("127.0.0.1:1"), std::string::npos)
        << "one program with all stores: it tried to connect";
  else
    EXPECT_NE(elsewhere.err.find(file("interlock-network")), std::string::npos) << elsewhere.err;
}

}  // namespace

#endif
