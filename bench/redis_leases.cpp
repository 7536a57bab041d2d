// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "machine.hpp"
#include "raw_redis.hpp"
#include "redis_server.hpp"
#include "tapped_link.hpp"

#include <interlock/client.hpp>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace bench {
namespace {

constexpr int lease_count = 10'000;

/// How many names a call of a script is about: its third argument.
int names_in(std::string_view request) {
  for (int line = 0; line < 6; ++line) request.remove_prefix(request.find('\n') + 1);
  int out = 0;
  std::from_chars(request.data(), request.data() + request.size(), out);
  return out;
}

}  // namespace

void redis_leases(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redis-leases", why);
  const redis_server server(with.folder);
  redis_statistics statistics(server.port());
  tapped_link link(server.port(), 0);
  // Two periods of a third each are watched.
  const auto lease = std::chrono::milliseconds(static_cast<int>(9000 * with.seconds));
  const interlock::client locks(link.url(), {.lease = lease});
  std::vector<interlock::pending<interlock::guard>> asked;
  for (int i = 0; i < lease_count; ++i) asked.push_back(locks.async_acquire("leases/" + std::to_string(i)));
  std::vector<interlock::guard> held;
  for (auto& one : asked) held.push_back(one.get());
  asked.clear();

  link.heard();
  statistics.reset();
  sleep_for(2 * static_cast<double>(lease.count()) / 3 / 1e3);
  const double server_seconds = statistics.script_seconds();
  const auto heard = link.heard();
  if (!std::ranges::all_of(held, &interlock::guard::valid)) throw std::runtime_error("a lease was lost meanwhile");
  int renewed = 0, largest = 0;
  for (const auto& one : heard) {
    renewed += names_in(one.bytes);
    largest = std::max(largest, names_in(one.bytes));
  }
  if (renewed < lease_count) throw std::runtime_error("only " + std::to_string(renewed) + " renewals were seen");
  out.add({.name = "redis-leases/connections",
           .what = "connections of a client that holds 10 000 leases",
           .value = static_cast<double>(statistics.connections()),
           .bar = 1});
  out.add({.name = "redis-leases/batch",
           .what = "leases in the largest renewal",
           .value = static_cast<double>(largest),
           .bar = 128,
           .note = std::to_string(heard.size()) + " requests renewed " + std::to_string(renewed) + " leases"});
  out.add({.name = "redis-leases/server",
           .what = "the server's time per renewed lease",
           .unit = " us",
           .value = 1e6 * server_seconds / renewed,
           .bar = 8});
}

}  // namespace bench
