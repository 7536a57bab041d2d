// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "heap.hpp"
#include "machine.hpp"

#include <interlock/client.hpp>

namespace bench {
namespace {

double allocations_per_pair(const interlock::client& locks) {
  constexpr int warm_up = 10'000, pairs = 100'000;
  for (int i = 0; i < warm_up; ++i) const auto held = locks.acquire("orders/42");
  const heap_watch watch;
  for (int i = 0; i < pairs; ++i) const auto held = locks.acquire("orders/42");
  return static_cast<double>(watch.allocations()) / pairs;
}

}  // namespace

void heap_per_pair(const settings& with, report& out) {
  out.add({.name = "heap-per-pair/memory",
           .what = "heap allocations per acquire + release on memory:, 100 000 pairs",
           .value = allocations_per_pair(interlock::client("memory:")),
           .bar = 0.0});
  if (!with_sqlite) return out.skip("heap-per-pair/sqlite", no_sqlite);
  const scratch_folder folder(with.folder);
  out.add({.name = "heap-per-pair/sqlite",
           .what = "heap allocations per acquire + release on sqlite:, SQLite's own included",
           .value = allocations_per_pair(interlock::client("sqlite:" + folder.file("locks.db")))});
}

}  // namespace bench
