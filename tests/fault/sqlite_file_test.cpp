// SPDX-License-Identifier: MIT
// Files that are not fit, or stop being fit, to hold locks: one clear failure each, and nothing half granted.
#include "backends/sqlite/store_file.hpp"
#include "support/sqlite_harness.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <fstream>

namespace interlock::test {
namespace {

using kind = standing::kind;

struct sqlite_file_test : testing::Test {
  scratch_folder folder;

  static void expect_refused(const sqlite_client& client, errc code, const std::string& words) {
    ASSERT_TRUE(client.refused);
    EXPECT_EQ(client.refused->kind(), code) << client.refused->message();
    EXPECT_NE(client.refused->message().find(words), std::string::npos) << client.refused->message();
  }
  void write_file(const std::string& text) const {
    std::ofstream(folder.file()) << text;
    chmod(folder.file().c_str(), 0600);
  }
  static mode_t mode_of(const std::string& path) {
    struct stat found {};
    return lstat(path.c_str(), &found) == 0 ? found.st_mode & 0777 : 0;
  }
  /// Runs `body` in a process of its own; its exit status.
  template <class Body>
  static int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_F(sqlite_file_test, everything_made_is_for_the_owner_alone_whatever_the_umask) {
  for (const mode_t mask : {0000, 0077, 0777}) {
    const auto path = folder.file("mask" + std::to_string(mask));
    const auto before = umask(mask);
    {
      sqlite_client a(path);
      ASSERT_FALSE(a.refused) << a.refused->message();
      EXPECT_TRUE(a.store->traits().push) << a.store->traits().caveat;
      ASSERT_GT(a.take(make_claim("n")), 0U);
      for (const auto& one : std::filesystem::directory_iterator(path + "-wake")) EXPECT_EQ(mode_of(one.path()), 0600U);
    }
    umask(before);
    EXPECT_EQ(mode_of(path), 0600U);
    EXPECT_EQ(mode_of(path + "-wal"), 0600U);
    EXPECT_EQ(mode_of(path + "-shm"), 0600U);
    EXPECT_EQ(mode_of(path + "-wake"), 0700U);
  }
}

TEST_F(sqlite_file_test, a_client_that_closes_takes_its_socket_along) {
  { sqlite_client a(folder.file()); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.file() + "-wake"));
}

TEST_F(sqlite_file_test, a_symbolic_link_is_refused_and_what_it_names_is_not_touched) {
  std::filesystem::create_symlink(folder.file("elsewhere"), folder.file());
  expect_refused(sqlite_client(folder.file()), errc::denied, "symbolic link");
  EXPECT_FALSE(std::filesystem::exists(folder.file("elsewhere")));
}

TEST_F(sqlite_file_test, a_linked_folder_is_the_folder_it_leads_to) {
  std::filesystem::create_directory_symlink(folder.path(), folder.file("link"));
  sqlite_client a(folder.file("link/locks.db")), b(folder.file());
  ASSERT_FALSE(a.refused) << a.refused->message();
  ASSERT_GT(a.take(make_claim("n")), 0U);
  EXPECT_EQ(b.take(make_claim("n")), 0U);
}

TEST_F(sqlite_file_test, a_file_that_everybody_can_write_is_refused) {
  write_file("");
  chmod(folder.file().c_str(), 0606);
  expect_refused(sqlite_client(folder.file()), errc::denied, "everybody can write");
}

TEST_F(sqlite_file_test, a_file_with_two_names_is_refused) {
  { sqlite_client a(folder.file()); }
  std::filesystem::create_hard_link(folder.file(), folder.file("other"));
  expect_refused(sqlite_client(folder.file("other")), errc::unsupported, "hard link");
}

TEST_F(sqlite_file_test, an_empty_file_becomes_a_store) {
  write_file("");
  sqlite_client a(folder.file());
  ASSERT_FALSE(a.refused) << a.refused->message();
  EXPECT_GT(a.take(make_claim("n")), 0U);
}

TEST_F(sqlite_file_test, a_missing_folder_is_named) {
  expect_refused(sqlite_client(folder.file("not/there.db")), errc::unavailable, "does not exist");
}

TEST_F(sqlite_file_test, bad_urls_are_refused_before_anything_is_made) {
  expect_refused(sqlite_client(""), errc::invalid_argument, "sqlite:/path");
  expect_refused(sqlite_client(folder.path() + '/'), errc::invalid_argument, "sqlite:/path");
  expect_refused(sqlite_client(folder.file("..")), errc::invalid_argument, "sqlite:/path");
  expect_refused(sqlite_client(folder.path()), errc::invalid_argument, "is a folder");
  expect_refused(sqlite_client(folder.file(std::string("a\0b", 3))), errc::invalid_argument, "sqlite:/path");
  expect_refused(sqlite_client(file_url(folder.file(), "off")), errc::invalid_argument, "normal or full");
  auto url = file_url(folder.file());
  url.options["turbo"] = "1";
  expect_refused(sqlite_client(url), errc::invalid_argument, "synchronous");
  url = file_url(folder.file());
  url.endpoints.push_back({.host = "db.example.com", .port = {}});
  expect_refused(sqlite_client(url), errc::invalid_argument, "sqlite:/path");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(sqlite_file_test, what_is_no_database_is_refused_and_left_as_it_was) {
  const std::string text(5000, 'x');
  write_file(text);
  expect_refused(sqlite_client(folder.file()), errc::unsupported, "not a database");
  EXPECT_EQ(std::filesystem::file_size(folder.file()), text.size());
}

TEST_F(sqlite_file_test, another_programs_database_is_refused_and_left_as_it_was) {
  {
    raw_database raw(folder.file());
    raw.run("create table recipes(name text)");
  }
  chmod(folder.file().c_str(), 0600);
  expect_refused(sqlite_client(folder.file()), errc::unsupported, "another program");
  EXPECT_EQ(raw_database(folder.file()).number("select count(*) from sqlite_schema"), 1);
  EXPECT_FALSE(std::filesystem::exists(folder.file() + "-wal")) << "its journal mode is not ours to change";
}

TEST_F(sqlite_file_test, a_newer_layout_is_refused) {
  { sqlite_client a(folder.file()); }
  raw_database(folder.file()).run("update meta set schema = 2");
  expect_refused(sqlite_client(folder.file()), errc::unsupported, "layout 2");
}

TEST_F(sqlite_file_test, a_damaged_file_grants_nothing) {
  {
    sqlite_client a(folder.file());
    for (int i = 0; i < 50; ++i) {
      const auto name = "n" + std::to_string(i);
      ASSERT_GT(a.take(make_claim(name)), 0U);
    }
  }
  raw_database(folder.file()).run("pragma wal_checkpoint(truncate)");
  {
    std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1024);  // every page but the first, whose text is the schema
    const auto size = std::filesystem::file_size(folder.file());
    for (std::uintmax_t i = 1024; i < size; ++i) file.put('\x55');
  }
  sqlite_client b(folder.file());
  if (b.refused) {
    EXPECT_EQ(b.refused->kind(), errc::unavailable) << b.refused->message();
    return;
  }
  const auto got = b.enter(make_claim("n7"), entry::attempt);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), errc::unavailable) << got.error().message();
}

TEST_F(sqlite_file_test, a_read_only_file_is_denied) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  { sqlite_client a(folder.file()); }
  for (const char* suffix : {"", "-wal", "-shm"}) chmod((folder.file() + suffix).c_str(), 0444);
  chmod(folder.path().c_str(), 0755);
  EXPECT_EQ(in_child([&] {
              if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
              sqlite_client b(folder.file());
              return b.refused && b.refused->kind() == errc::denied ? 0 : 2;
            }),
            0);
}

TEST_F(sqlite_file_test, a_folder_one_may_not_write_is_denied) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  chmod(folder.path().c_str(), 0755);
  EXPECT_EQ(in_child([&] {
              if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
              sqlite_client b(folder.file());
              return b.refused && b.refused->kind() == errc::denied ? 0 : 2;
            }),
            0);
}

TEST_F(sqlite_file_test, without_a_folder_for_sockets_waiters_poll_and_it_says_so) {
  std::ofstream(folder.file() + "-wake") << "in the way";
  sqlite_client a(folder.file()), b(folder.file());
  ASSERT_FALSE(a.refused) << a.refused->message();
  EXPECT_FALSE(a.store->traits().push);
  EXPECT_NE(a.store->traits().caveat.find("poll"), std::string::npos);
  const auto first = make_claim("n"), second = make_claim("n");
  ASSERT_GT(a.take(first), 0U);
  ASSERT_EQ(b.enter(second)->is, kind::waiting);
  ASSERT_EQ(*a.leave(first), departure::released);
  EXPECT_EQ(b.look(second)->is, kind::held) << "looking finds out";
}

TEST_F(sqlite_file_test, a_full_disk_is_unavailable_and_nothing_is_half_granted) {
  // A limit on the size of files is a disk that fills up, without a mount.
  const int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    sqlite_client a(folder.file());
    const auto mine = make_claim("before");
    if (a.take(mine) == 0) return 1;
    const rlimit tight{40'000, 40'000};
    if (setrlimit(RLIMIT_FSIZE, &tight) != 0) return 2;
    std::optional<failure> full;
    std::string name;
    for (int i = 0; i < 1000 && !full; ++i) {
      name = "n" + std::to_string(i);
      auto got = a.enter(make_claim(name), entry::attempt);
      if (!got) full = got.error();
    }
    if (!full) return 3;
    if (full->kind() != errc::unavailable && full->kind() != errc::indeterminate) return 4;
    std::ofstream(folder.file("failed")) << name;
    return 0;
  });
  ASSERT_EQ(status, 0);
  std::string name;
  std::ifstream(folder.file("failed")) >> name;
  sqlite_client b(folder.file());
  ASSERT_FALSE(b.refused) << b.refused->message();
  EXPECT_GT(b.take(make_claim(name)), 0U) << "what failed was not granted";
  EXPECT_EQ(b.take(make_claim("before")), 0U) << "what was granted stays";
}

TEST_F(sqlite_file_test, on_a_really_full_disk_leaving_says_so_and_works_again_afterwards) {
  const auto mount_point = folder.file("disk");
  std::filesystem::create_directory(mount_point);
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=512k,mode=0700") != 0) GTEST_SKIP() << "cannot mount";
  {
    sqlite_client a(mount_point + "/locks.db");
    ASSERT_FALSE(a.refused) << a.refused->message();
    ASSERT_GT(a.take(make_claim("before")), 0U);
    std::ofstream(mount_point + "/ballast") << std::string(std::size_t{1} << 20, 'x');
    std::optional<failure> full;
    std::string name;
    for (int i = 0; i < 1000 && !full; ++i) {
      name = "n" + std::to_string(i);
      auto got = a.enter(make_claim(name), entry::attempt);
      if (!got) full = got.error();
    }
    ASSERT_TRUE(full);
    EXPECT_EQ(full->kind(), errc::unavailable) << full->message();
    std::filesystem::remove(mount_point + "/ballast");
    EXPECT_GT(a.take(make_claim(name)), 0U) << "the same client goes on when there is room again";
    EXPECT_EQ(a.take(make_claim("before")), 0U);
  }
  EXPECT_EQ(umount2(mount_point.c_str(), MNT_DETACH), 0);
}

TEST_F(sqlite_file_test, a_holder_learns_at_its_next_look_that_the_file_was_removed) {
  sqlite_client a(folder.file());
  const auto mine = make_claim("n");
  ASSERT_GT(a.take(mine), 0U);
  std::filesystem::remove(folder.file());
  const auto renewed = a.look(mine);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().kind(), errc::unavailable);
  EXPECT_NE(renewed.error().message().find("removed or replaced"), std::string::npos) << renewed.error().message();
  EXPECT_FALSE(a.enter(make_claim("other")));
}

TEST_F(sqlite_file_test, network_and_user_space_file_systems_are_refused_by_name) {
  using sqlite_store::refused_file_system;
  EXPECT_EQ(refused_file_system(0x6969), "nfs");
  EXPECT_EQ(refused_file_system(0xff534d42), "cifs");
  EXPECT_EQ(refused_file_system(static_cast<unsigned long>(static_cast<int>(0xff534d42))), "cifs") << "sign-extended";
  EXPECT_EQ(refused_file_system(0x65735546), "fuse");
  EXPECT_EQ(refused_file_system(0x01021997), "9p");
  EXPECT_EQ(refused_file_system(0xef53), "") << "ext4";
  EXPECT_EQ(refused_file_system(0x01021994), "") << "tmpfs";
  EXPECT_EQ(refused_file_system(0x9123683e), "") << "btrfs";
}

}  // namespace
}  // namespace interlock::test
