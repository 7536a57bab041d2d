// SPDX-License-Identifier: MIT
#include "engine/parker.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <vector>

namespace interlock::inline v1::runtime {
namespace {

struct spare_parkers {
  std::mutex mutex;
  std::vector<parker*> list;
};
spare_parkers& spare() {
  static auto* one = new spare_parkers;  // outlives every thread, also detached ones at exit
  return *one;
}

struct borrowed {
  parker* mine;
  borrowed() {
    const std::lock_guard lock(spare().mutex);
    if (spare().list.empty()) {
      mine = new parker;
    } else {
      mine = spare().list.back();
      spare().list.pop_back();
    }
  }
  borrowed(const borrowed&) = delete;
  borrowed& operator=(const borrowed&) = delete;
  ~borrowed() {
    const std::lock_guard lock(spare().mutex);
    spare().list.push_back(mine);
  }
};

}  // namespace

parker& parker::of_this_thread() {
  thread_local const borrowed one;
  return *one.mine;
}

void parker::park(std::uint32_t ticket) noexcept {
  ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, ticket, nullptr, nullptr, 0);
}

bool parker::park_beside(int fd, std::uint32_t ticket, int most_milliseconds) noexcept {
  if (bell_ < 0) bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell_ < 0) return ::sched_yield(), true;  // no descriptor left: keep reading instead of sleeping
  pollfd both[2] = {{.fd = fd, .events = POLLIN, .revents = 0}, {.fd = bell_, .events = POLLIN, .revents = 0}};
  polling_.store(true);  // before the word is read: either the waker sees this, or we see its word
  if (word_.load() == ticket) ::poll(both, 2, most_milliseconds);
  polling_.store(false);
  std::uint64_t rings = 0;
  if (both[1].revents != 0 && ::read(bell_, &rings, sizeof rings) < 0) rings = 0;  // an empty bell is fine too
  return both[0].revents != 0;
}

void parker::unpark() noexcept {
  word_.fetch_add(1);
  if (polling_.load()) {
    const std::uint64_t ring = 1;
    if (::write(bell_, &ring, sizeof ring) < 0) return;  // it is ringing already
    return;
  }
  ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace interlock::inline v1::runtime
