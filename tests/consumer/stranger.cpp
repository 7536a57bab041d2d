// SPDX-License-Identifier: MIT
#include <interlock/client.hpp>
#include <interlock/guard.hpp>

#include <cstdio>

int main() {
  interlock::client locks{"memory:"};
  auto held = locks.acquire("orders/42");
  if (locks.try_acquire("orders/42")) return 1;
  std::printf("held with token %llu\n", static_cast<unsigned long long>(held.token().value()));
  return held.valid() ? 0 : 1;
}
