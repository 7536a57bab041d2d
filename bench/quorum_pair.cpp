// SPDX-License-Identifier: MIT
#include "busy_locks.hpp"
#include "cases.hpp"
#include "compare.hpp"
#include "machine.hpp"
#include "raw_redis.hpp"
#include "redis_requests.hpp"
#include "redis_server.hpp"
#include "tapped_link.hpp"
#include "typical.hpp"

#include <interlock/client.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

/// Five servers, each a millisecond away: what counts is how often one waits for them, and whether for all at once.
namespace bench {
namespace {

constexpr std::size_t node_count = 5, majority = 3;
constexpr double quorum_delay = 0.0005;  // there, and the same back
constexpr const char* compare_and_delete =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

/// The servers and the ways to them.
struct distant_servers {
  explicit distant_servers(const std::string& folder) {
    for (std::size_t i = 0; i < node_count; ++i) {
      servers.push_back(std::make_unique<redis_server>(folder));
      links.push_back(std::make_unique<tapped_link>(servers.back()->port(), quorum_delay));
    }
  }
  [[nodiscard]] std::string url(const std::string& options = {}) const {
    std::string out;
    for (const auto& one : links)
      out += (out.empty() ? "redlock://127.0.0.1:" : ",127.0.0.1:") + std::to_string(one->port());
    return options.empty() ? out : out + "?" + options;
  }
  std::vector<std::unique_ptr<redis_server>> servers;
  std::vector<std::unique_ptr<tapped_link>> links;
};

/// Redlock with bare sockets: SET NX PX, and a script that compares and deletes.
class raw_redlock {
 public:
  explicit raw_redlock(const distant_servers& to) {
    for (const auto& one : to.links) {
      nodes_.push_back(std::make_unique<raw_redis>(one->port()));
      sha_ = nodes_.back()->load(compare_and_delete);
    }
    const std::string owner(32, 'x');
    set_ = command({"SET", "floor", owner, "NX", "PX", "30000"});
    remove_ = command({"EVALSHA", sha_, "1", "floor", owner});
  }
  /// All at once, waiting for a majority; who comes later is listened to before the next question.
  void pair() {
    ask(set_);
    ask(remove_);
  }
  void pair_in_turn() {
    finish();
    for (const auto* request : {&set_, &remove_})
      for (const auto& one : nodes_) one->call(*request);
  }

 private:
  void ask(const std::string& request) {
    finish();
    for (const auto& one : nodes_) one->send(request);
    for (std::size_t i = 0; i < majority; ++i) nodes_[i]->receive();
    late_ = true;
  }
  void finish() {
    for (std::size_t i = majority; late_ && i < node_count; ++i) nodes_[i]->receive();
    late_ = false;
  }
  std::vector<std::unique_ptr<raw_redis>> nodes_;
  std::string sha_, set_, remove_;
  bool late_ = false;
};

measure pairs(const interlock::client& locks, double seconds) {
  return [&locks, seconds] { return typical(seconds, [&] { locks.acquire(one_name).release().value(); }); };
}

void against_floors(const distant_servers& to, const settings& with, report& out) {
  raw_redlock raw(to);
  const interlock::client bare(to.url("token=none")), fenced(to.url());
  out.add(compare(
              with, [&] { return typical(with.seconds, [&] { raw.pair(); }); }, pairs(bare, with.seconds))
              .against(1.15, {.name = "quorum-pair/parallel",
                              .what = "acquire + release, token=none, five servers 1 ms away, p50, against bare "
                                      "sockets that ask all at once"}));
  out.add(compare(
              with, [&] { return typical(with.seconds, [&] { raw.pair_in_turn(); }); }, pairs(bare, with.seconds))
              .against(0.25, {.name = "quorum-pair/in-turn",
                              .what = "the same, against bare sockets that visit one server after the other"}));
  out.add(compare(with, pairs(bare, with.seconds), pairs(fenced, with.seconds))
              .against(2, {.name = "quorum-pair/token", .what = "the same with tokens, against token=none"}));
}

void with_one_frozen(distant_servers& to, const settings& with, report& out) {
  const interlock::client locks(to.url());
  const double healthy = pairs(locks, with.seconds)();
  to.servers[1]->freeze();
  const double frozen = pairs(locks, with.seconds)();
  to.servers[1]->thaw();
  out.add({.name = "quorum-pair/frozen",
           .what = "acquire + release while one of the five is frozen, against all five well",
           .unit = "x",
           .value = frozen / healthy,
           .bar = 1.2,
           .note = "well " + show_time(healthy) + ", frozen " + show_time(frozen)});
}

}  // namespace

void quorum_pair(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("quorum-pair", why);
  distant_servers to(with.folder);
  against_floors(to, with, out);
  with_one_frozen(to, with, out);
}

void quorum_many(const settings& with, report& out) {
  if (const auto why = why_no_redis(); !why.empty()) return out.skip("quorum-many", why);
  const distant_servers to(with.folder);
  for (const char* options : {"token=none", ""}) {
    const interlock::client locks(to.url(options));
    busy_locks all(locks, numbered("many", 64));
    const double pace = pace_of(all.pairs(), with.seconds);
    all.finish();
    out.add({.name = std::string("quorum-many/") + (*options == '\0' ? "fenced" : "bare"),
             .what = "time per pair, 64 locks at once on five servers 1 ms away",
             .unit = "us",
             .value = pace * 1e6});
  }
}

}  // namespace bench
