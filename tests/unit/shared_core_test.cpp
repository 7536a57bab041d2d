// SPDX-License-Identifier: MIT
#include "net/shared_core.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace interlock::inline v1::net {
namespace {

/// A connection to ourselves, over the host's own network or over none.
class both_ends {
 public:
  explicit both_ends(int family) {
    if (family == AF_UNIX) {
      int two[2];
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, two), 0);
      here = two[0], there = two[1];
      return;
    }
    const int door = ::socket(family, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(door, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(door, 1), 0);
    EXPECT_EQ(::getsockname(door, reinterpret_cast<sockaddr*>(&at), &size), 0);
    here = ::socket(family, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(here, reinterpret_cast<const sockaddr*>(&at), size), 0);
    there = ::accept(door, nullptr, nullptr);
    ::close(door);
  }
  both_ends(const both_ends&) = delete;
  both_ends& operator=(const both_ends&) = delete;
  ~both_ends() {
    ::close(here);
    ::close(there);
  }
  void answer() const {
    char one = 'x';
    EXPECT_EQ(::send(there, &one, 1, 0), 1);
    EXPECT_EQ(::recv(here, &one, 1, 0), 1);
  }
  int here = -1, there = -1;
};

/// The cores this thread may use; it is put on one of them, and back in the end.
class cores {
 public:
  cores() {
    ::sched_getaffinity(0, sizeof all_, &all_);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &all_)) known.push_back(i);
  }
  cores(const cores&) = delete;
  cores& operator=(const cores&) = delete;
  ~cores() { ::sched_setaffinity(0, sizeof all_, &all_); }
  static void move_to(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }
  std::vector<int> known;

 private:
  cpu_set_t all_{};
};

TEST(shared_core, a_loopback_connection_stays_on_the_host) { EXPECT_TRUE(stays_on_host(both_ends(AF_INET).here)); }

TEST(shared_core, nothing_is_said_of_a_unix_socket_or_of_none) {
  const both_ends local(AF_UNIX);
  local.answer();
  EXPECT_FALSE(stays_on_host(local.here));
  EXPECT_FALSE(shares_core(-1));
}

TEST(shared_core, the_other_end_shares_the_core_it_answered_from) {
  const both_ends two(AF_INET);
  const cores ours;
  for (const int core : ours.known) {
    cores::move_to(core);
    two.answer();
    EXPECT_TRUE(shares_core(two.here)) << core;
    if (ours.known.size() < 2) return;
    cores::move_to(core == ours.known.front() ? ours.known.back() : ours.known.front());
    EXPECT_FALSE(shares_core(two.here)) << core;
  }
}

}  // namespace
}  // namespace interlock::inline v1::net
