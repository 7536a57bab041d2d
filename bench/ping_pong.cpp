// SPDX-License-Identifier: MIT
#include "ping_pong.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bench {

futex_ping_pong::futex_ping_pong() : one_([this] { play(0); }), two_([this] { play(1); }) {}

futex_ping_pong::~futex_ping_pong() {
  over_ = true;
  one_.join();
  two_.join();
}

void futex_ping_pong::play(std::uint32_t me) {
  const auto other = 1 - me;
  for (bool last = false; !last;) {
    while (turn_.load(std::memory_order_acquire) != me)
      ::syscall(SYS_futex, &turn_, FUTEX_WAIT_PRIVATE, other, nullptr, nullptr, 0);
    last = over_.load(std::memory_order_relaxed);
    turns_.fetch_add(1, std::memory_order_relaxed);
    turn_.store(other, std::memory_order_release);
    ::syscall(SYS_futex, &turn_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

}  // namespace bench
