// SPDX-License-Identifier: MIT
#include "engine/parker.hpp"

#include <linux/futex.h>
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

void parker::unpark() noexcept {
  word_.fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace interlock::inline v1::runtime
