// SPDX-License-Identifier: MIT
#include "busy_locks.hpp"
#include "cases.hpp"
#include "compare.hpp"
#include "peers.hpp"
#include "redis_requests.hpp"
#include "redis_server.hpp"

#include <interlock/client.hpp>

#include <list>

/// Other lock libraries as they are, each in a process of its own, in turns with interlock on the same servers.
namespace bench {
namespace {

constexpr double a_fifth = 1.0 / 5;  // of their time: five times their rate

/// One row: interlock with these options of its URL against the library.
struct encounter {
  std::string suffix;  ///< of the row's name
  std::string options;
  double bar;  ///< with many locks at once; 0: for information
};

struct rival {
  peer_library library;
  std::vector<encounter> rows;  ///< as interlock comes, and with the library's own format
};

std::vector<rival> on_one_server(const std::string& folder) {
  return {{redisson_in(folder), {{"", "", a_fifth}, {"-format", "layout=redisson", 0}}},
          {redsync_in(folder), {{"", "", a_fifth}, {"-format", "layout=plain&token=none", a_fifth}}},
          {node_redlock_in(folder, 4), {{"", "", 0}}}};
}

// Tokens are remembered for a day, in a key beside the lock's: with the same names, the rows behind them would find it.
std::vector<rival> on_a_majority(const std::string& folder) {
  return {{redsync_in(folder), {{"", "token=none", a_fifth}, {"-token", "prefix=fenced-", 0}}},
          {node_redlock_in(folder, 4), {{"", "token=none", a_fifth}}},
          {node_redlock_in(folder, 5), {{"", "token=none", a_fifth}}}};
}

double busy_pace_of_many(const interlock::client& locks, double seconds) {
  return busy_pace(locks, many_locks, seconds);
}

/// What the rows of one case have in common.
struct contest {
  std::string scheme;
  std::vector<std::string> addresses;
  const settings& with;
  report& out;
  std::string row;  ///< what their names begin with
  std::string what;
  int locks;
  double (*ours)(const interlock::client& locks, double seconds);

  void meet_all(const std::vector<rival>& rivals) const {
    for (const auto& one : rivals) meet(one);
  }
  [[nodiscard]] std::string url(const std::string& options) const {
    auto all = scheme + "://";
    for (const auto& one : addresses) all += (one == addresses.front() ? "" : ",") + one;
    return all + (options.empty() ? "" : "?" + options);
  }
  void meet(const rival& one) const {
    const auto& name = one.library.name;
    if (const auto why = one.library.missing(); !why.empty()) return out.skip(row + "/" + name, why);
    peer_process peer(one.library, addresses);
    const double warmed = peer.warm_up(locks, with.seconds);
    for (const auto& how : one.rows) out.add(encounter_with(peer, name, how, "warmed up for " + show_time(warmed)));
  }
  figure encounter_with(peer_process& peer, const std::string& name, const encounter& how,
                        const std::string& note) const {
    const interlock::client client(url(how.options));
    auto compared = compare(
        with, [&] { return peer.pace(locks, with.seconds); }, [&] { return ours(client, with.seconds); });
    compared.other = name;
    return compared.against(locks == many_locks ? how.bar : 0,
                            {.name = row + "/" + name + how.suffix,
                             .what = what + ", against " + name + (how.options.empty() ? "" : "; " + how.options),
                             .note = show_number(1 / median(compared.ratios)) + " times its rate; " + note});
  }
};

std::string address_of(const redis_server& server) { return "127.0.0.1:" + std::to_string(server.port()); }

}  // namespace

void redis_many_peers(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redis-many-peers", why);
  const on_core mine(client_core);
  const redis_server server(with.folder, server_core);
  contest{"redis",    {address_of(server)}, with, out, "redis-many", "time per pair, 64 locks at once",
          many_locks, busy_pace_of_many}
      .meet_all(on_one_server(with.peers));
}

void redis_pair_peers(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redis-pair-peers", why);
  const redis_server server(with.folder);
  contest{"redis", {address_of(server)}, with, out, "redis-pair", "acquire + release, mean", 1, lone_pace}.meet_all(
      on_one_server(with.peers));
}

void redlock_peers(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("redlock-peers", why);
  const on_core mine(client_core);
  std::list<redis_server> servers;
  std::vector<std::string> addresses;
  for (int i = 0; i < 5; ++i) addresses.push_back(address_of(servers.emplace_back(with.folder, server_core)));
  contest{"redlock",  addresses,        with, out, "redlock-many", "time per pair, 64 locks at once, five servers",
          many_locks, busy_pace_of_many}
      .meet_all(on_a_majority(with.peers));
}

}  // namespace bench
