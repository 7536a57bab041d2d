// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <algorithm>
#include <array>

#include <fcntl.h>
#include <unistd.h>

namespace cli_test {
namespace {

struct bad_call {
  const char* called;
  strings arguments;
  int code;
  std::string says;  // a part of the one line on stderr: the value, or the rule
};

strings run_with(const strings& options, const std::string& name = "x") {
  strings out{"run", name};
  out.insert(out.end(), options.begin(), options.end());
  out.insert(out.end(), {"--", "true"});
  return out;
}

const std::vector<bad_call>& bad_calls() {
  static const std::vector<bad_call> all{
      {"no verb", {}, 64, "no verb given"},
      {"unknown verb", {"rum", "x"}, 64, "did you mean `interlock run`?"},
      {"verb like nothing", {"frobnicate"}, 64, "interlock help"},
      {"unknown option", run_with({"--waitt", "5s"}), 64, "did you mean --wait?"},
      {"option of another verb", run_with({"--force"}), 64, "--force is no option of `interlock run`"},
      {"option without its value", {"run", "x", "--wait", "--", "true"}, 64, "--wait needs a value"},
      {"flag with a value", run_with({"--shared=yes"}), 64, "--shared takes no value"},
      {"no name", {"run", "--", "true"}, 64, "needs NAME"},
      {"empty name", run_with({}, ""), 64, "name is empty"},
      {"100 kB name", run_with({}, std::string(100'000, 'n')), 64, "is longer than 1024 bytes"},
      {"control byte in the name", run_with({}, "a\x1b[31mb"), 64, "\\x1b"},
      {"newline in the name", run_with({}, "a\nb"), 64, "control character"},
      {"invalid UTF-8 in the name",
       run_with({}, "a\xff\xfe"
                    "b"),
       64, "not valid UTF-8"},
      {"dots for a name", run_with({}, ".."), 64, "\"..\""},
      {"dots inside a name", run_with({}, "a/../b"), 64, "\"..\""},
      {"zero lease", run_with({"--lease", "0s"}), 64, "--lease \"0s\" must be longer than zero"},
      {"negative lease", run_with({"--lease", "-5s"}), 64, "--lease \"-5s\" is not a duration"},
      {"lease without a unit", run_with({"--lease", "5"}), 64, "--lease \"5\" is not a duration"},
      {"overflowing lease", run_with({"--lease", "99999999999999999999h"}), 64, "99999999999999999999h"},
      {"absurd lease", run_with({"--lease", "9999999999h"}), 64, "longer than 876000h"},
      {"negative wait", run_with({"--wait", "-1ms"}), 64, "--wait \"-1ms\" is not a duration"},
      {"overflowing wait", run_with({"--wait", "18446744073709551616ms"}), 64, "18446744073709551616ms"},
      {"absurd wait", run_with({"--wait", "9999999999h"}), 64, "longer than 876000h"},
      {"wait in words", run_with({"--wait", "soon"}), 64, "\"soon\" is not a duration"},
      {"zero max-hold", run_with({"--max-hold", "0s"}), 64, "--max-hold \"0s\" must be longer than zero"},
      {"garbage lock-delay", run_with({"--lock-delay", "x"}), 64, "--lock-delay \"x\""},
      {"wait for try", {"try", "x", "--wait", "5s", "--", "true"}, 64, "--wait is no option of `interlock try`"},
      {"more permits than there are", run_with({"--permits", "4/3"}), 64, "takes more permits than there are"},
      {"no permit", run_with({"--permits", "0/3"}), 64, "asks for no permit"},
      {"permits of nothing", run_with({"--permits", "1/0"}), 64, "asks for no permit"},
      {"permits without a limit", run_with({"--permits", "x"}), 64, "--permits \"x\" is not of the form K/N"},
      {"permits in words", run_with({"--permits", "a/b"}), 64, "--permits \"a/b\""},
      {"overflowing permits", run_with({"--permits", "1/4294967296"}), 64, "2147483647"},
      {"too high a limit", run_with({"--permits", "1/2147483648"}), 64, "above 2147483647"},
      {"shared permits", run_with({"--shared", "--permits", "1/3"}), 64, "exclude each other"},
      {"unknown scheme", run_with({"--store", "gopher://localhost/"}), 64, "gopher"},
      {"store without a scheme", run_with({"--store", "locks.db"}), 64, "scheme"},
      {"empty store", run_with({"--store", ""}), 64, "--store is empty"},
      {"unknown store option", run_with({"--store", "sqlite:/nowhere/x.db?colour=red"}), 64, "\"colour\""},
      {"password file nobody reads", run_with({"--store", "sqlite:/nowhere/x.db?password_file=/nope"}), 64,
       "password_file"},
      {"bad port", run_with({"--store", "redis://localhost:99999/"}), 64, "99999"},
      {"empty port", run_with({"--store", "redis://localhost:/"}), 64, "port"},
      {"store that cannot be", run_with({"--store", "sqlite:/proc/nowhere/x.db"}), 69, "/proc/nowhere"},
      {"no command", {"run", "x"}, 64, "needs a command"},
      {"no command after the dashes", {"run", "x", "--"}, 64, "needs a command"},
      {"empty command", {"run", "x", "--", ""}, 64, "command after \"--\" is empty"},
      {"forgotten dashes", {"run", "x", "make", "all"}, 64, "interlock run NAME -- make"},
      {"missing command", {"run", "x", "--", "no-such-command-here"}, 127, "no-such-command-here: command not found"},
      {"missing path", {"run", "x", "--", "/nowhere/at/all"}, 127, "/nowhere/at/all: command not found"},
      {"command that is a folder", {"run", "x", "--", "/tmp"}, 126, "/tmp: cannot be executed"},
      {"command that is no program", {"run", "x", "--", "/etc/passwd"}, 126, "/etc/passwd: cannot be executed"},
      {"closed status descriptor", run_with({"--status-fd", "777"}), 64,
       "--status-fd \"777\" is not an open descriptor"},
      {"negative status descriptor", run_with({"--status-fd", "-1"}), 64, "\"-1\" is not a descriptor number"},
      {"break without a handle", {"break", "x"}, 64, "needs --handle"},
      {"short handle", {"break", "x", "--handle", "abc"}, 64, "\"abc\" is not 6 to 32 digits"},
      {"handle with other letters", {"break", "x", "--handle", "xyzxyz"}, 64, "\"xyzxyz\""},
      {"two names", {"show", "a", "b"}, 64, "does not know what to do with \"b\""},
      {"two stores to examine", {"doctor", "memory:", "--store", "memory:"}, 64, "two stores"},
      {"tables of no store", {"schema"}, 64, "STORE"},
      {"tables of a store without any", {"schema", "memory"}, 64, "memory"},
      {"unknown scheme to examine", {"doctor", "gopher://localhost/"}, 64, "gopher"},
      {"help for nothing", {"help", "nothing"}, 64, "no help for \"nothing\""},
  };
  return all;
}

class bad_input : public command_test {};

TEST_F(bad_input, is_told_in_one_line_and_changes_nothing) {
  EXPECT_EQ(interlock({"ls"}).code(), 0);
  const auto before = interlock({"ls", "--json"}).out;
  for (const auto& one : bad_calls()) {
    SCOPED_TRACE(one.called);
    const auto got = interlock(one.arguments);
    EXPECT_EQ(got.code(), one.code) << got.err;
    EXPECT_EQ(got.out, "");
    const auto line = got.err.substr(0, got.err.find('\n'));
    EXPECT_TRUE(line.starts_with("interlock: ")) << got.err;
    EXPECT_NE(line.find(one.says), std::string::npos) << got.err;
    EXPECT_LT(line.size(), 400U);
    const auto lines = std::count(got.err.begin(), got.err.end(), '\n');
    EXPECT_TRUE(lines == 1 || one.arguments.empty()) << got.err;
    EXPECT_TRUE(std::none_of(got.err.begin(), got.err.end(), [](char c) { return c == '\x1b' || c == '\r'; }));
  }
  EXPECT_EQ(interlock({"ls", "--json"}).out, before);
}

TEST_F(bad_input, of_a_command_without_permission_to_execute_is_126) {
  write("tool", "#!/bin/sh\n", 0644);
  const auto got = interlock({"run", "x", "--", file("tool")});
  EXPECT_EQ(got.code(), 126);
  write("odd", "#!/nowhere/interpreter\n", 0755);
  EXPECT_EQ(interlock({"run", "x", "--", file("odd")}).code(), 127) << "only exec itself finds that out";
  EXPECT_EQ(interlock({"try", "x", "--", "true"}).code(), 0) << "and the lock is free again";
}

TEST_F(bad_input, names_that_begin_alike_are_different_locks) {
  auto holder = start_script("a", {}, "echo $$ > pid; exec sleep 30");
  static_cast<void>(pid_in("pid"));
  for (const auto* other : {"aa", "a/", "a/b", "A", "a ", "a.", "a%"})
    EXPECT_EQ(interlock({"try", other, "--", "true"}).code(), 0) << other;
  EXPECT_EQ(interlock({"try", "a", "--", "true"}).code(), 75);
}

TEST_F(bad_input, never_shows_a_password) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  // A stderr that takes no more keeps the command from ending, so that `ps` can be asked.
  const std::string filler(4096, 'f');
  while (::write(ends[1], filler.data(), filler.size()) > 0) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  const auto text = "exec \"$0\" ls --store 'gopher://me:hush@localhost/?password=hush2' 2>&9";
  process one({"sh", "-c", text, INTERLOCK_COMMAND}, {.status_fd = ends[1]});
  ::close(ends[1]);
  const auto command_line = [&] { return read_file("/proc/" + std::to_string(one.pid()) + "/cmdline"); };
  ASSERT_TRUE(eventually([&] {
    return command_line().find("gopher://me:****@localhost/?password=*****") != std::string::npos;
  })) << command_line();
  std::string err;
  std::array<char, 65536> bytes{};
  while (err.find("gopher") == std::string::npos) {
    const auto got = ::read(ends[0], bytes.data(), bytes.size());
    if (got == 0) break;
    if (got > 0) err.append(bytes.data(), static_cast<std::size_t>(got));
  }
  EXPECT_EQ(one.wait().code(), 64);
  EXPECT_NE(err.find("gopher"), std::string::npos);
  EXPECT_EQ(err.find("hush"), std::string::npos);
  ::close(ends[0]);
}

class help : public command_test {};

TEST_F(help, of_every_verb_teaches_by_example) {
  for (const auto* verb : {"run", "try", "ls", "show", "break", "doctor", "schema", "demo", "version"}) {
    const auto asked = interlock({"help", verb});
    EXPECT_EQ(asked.code(), 0);
    EXPECT_TRUE(asked.out.starts_with("usage: interlock " + std::string(verb))) << asked.out;
    EXPECT_NE(asked.out.find("Examples:"), std::string::npos);
    EXPECT_EQ(interlock({verb, "--help"}).out, asked.out);
  }
  EXPECT_EQ(interlock({"--help"}).out, interlock({"help"}).out);
}

TEST_F(help, options_may_stand_anywhere_before_the_dashes) {
  EXPECT_EQ(interlock({"--quiet", "--store", url(), "run", "--lease=5s", "x", "--", "echo", "--store"}).out,
            "--store\n");
  EXPECT_EQ(interlock({"--json", "ls"}).out, interlock({"ls", "--json"}).out);
}

}  // namespace
}  // namespace cli_test
