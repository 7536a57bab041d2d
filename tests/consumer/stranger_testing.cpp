// SPDX-License-Identifier: MIT
#include <interlock/guard.hpp>
#include <interlock/testing/sandbox.hpp>

#include <chrono>
#include <cstdio>

// A holder that is cut off learns of its loss when the lease is over, with no real time passing.
int main() {
  interlock::testing::sandbox world;
  auto locks = world.connect();
  auto held = locks.acquire("orders/42", {.lease = std::chrono::seconds{10}});
  world.cut(locks);
  world.advance(std::chrono::seconds{11});
  std::puts(held.valid() ? "still held" : "lost, as it should be");
  return held.valid() ? 1 : 0;
}
