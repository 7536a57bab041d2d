// SPDX-License-Identifier: MIT
#include "raw_queue.hpp"

#include "machine.hpp"

namespace bench {
namespace {

constexpr const char* channel = "grants";
constexpr const char* acquire_text =
    "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[3]) end "
    "redis.call('RPUSH', KEYS[2], ARGV[1]) return 0";
constexpr const char* release_text =
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "local next = redis.call('LPOP', KEYS[2]) "
    "if not next then return redis.call('DEL', KEYS[1]) end "
    "redis.call('SET', KEYS[1], next, 'PX', ARGV[2]) "
    "redis.call('PUBLISH', ARGV[3], next .. ' ' .. redis.call('INCR', KEYS[3])) return 2";

}  // namespace

raw_queue::raw_queue(std::uint16_t port)
    : server_(port), acquire_(server_.load(acquire_text)), release_(server_.load(release_text)) {
  server_.call(command({"HELLO", "3"}));
  server_.call(command({"SUBSCRIBE", channel}));
}

void raw_queue::drain(int waiters, std::vector<double>& each) {
  std::vector<std::string> releases;
  std::string all;
  for (int i = 0; i <= waiters; ++i) {
    const auto who = std::to_string(i);
    all += command({"EVALSHA", acquire_, "3", "lock", "line", "token", who, "30000"});
    releases.push_back(command({"EVALSHA", release_, "3", "lock", "line", "token", who, "30000", channel}));
  }
  server_.send(all);
  for (int i = 0; i <= waiters; ++i) server_.receive();
  for (std::size_t i = 0; i < releases.size(); ++i) {
    const double before = now();
    server_.send(releases[i]);
    const bool last = i + 1 == releases.size();
    // The news and the answer to the release: which comes first is the server's choice.
    for (int left = last ? 1 : 2; left > 0; --left)
      if (server_.receive()[0] == '>') each.push_back(now() - before);
  }
}

}  // namespace bench
