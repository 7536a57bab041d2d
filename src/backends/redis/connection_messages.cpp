// SPDX-License-Identifier: MIT
#include "backends/redis/connection.hpp"

#include "backends/redis/server_error.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

/// Subscriptions, and pushes, which come in between the answers.
namespace interlock::inline v1::redis_store {

void connection::listen(const packet& what, reply_handler done, bool fenced) {
  {
    const std::lock_guard lock(mutex_);
    if (is_up()) {
      listening_ = true;
      leave_exchange();
      const auto now = time_.now();
      out_.push({.sent = now, .by_push = true}, what.bytes(), std::move(done));
      if (fenced && facts_.resp3)
        out_.push({.sent = now, .fence = true}, packet({"PING"}).bytes(), [](const result<reply>&) {});
      watch_deadline();
      watch_in(watched_ | EPOLLIN);
      if (corked_ || std::exchange(flush_posted_, true)) return;
      done = {};
    }
  }
  if (done) return done(failure(errc::unavailable, where_.shown() + ": not connected"));
  post_flush();
}

// Whether it confirms what was asked for, or comes unasked: a server also says so when a channel's slot has gone.
void connection::answer_push(reply what) {
  reply_handler subscribed;
  std::string verb(what[0].text());
  if (verb.ends_with("subscribe")) {
    std::transform(verb.begin(), verb.end(), verb.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    const packet asked({verb, what[1].text()});
    const std::lock_guard lock(mutex_);
    if (!out_.empty() && out_.front().by_push && out_.bytes_of(out_.front()) == asked.bytes())
      subscribed = std::move(out_.pop()->done);
  }
  return subscribed ? subscribed(what) : owner_.pushed(*this, what);
}

// See leave_shard().
bool connection::is_stray(std::string_view error) const {
  const auto code = error_code(error);
  if (code != "MOVED" && code != "ASK" && code != "CLUSTERDOWN") return false;
  const std::lock_guard lock(mutex_);
  return !out_.empty() && out_.front().fence;
}

}  // namespace interlock::inline v1::redis_store
