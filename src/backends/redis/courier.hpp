// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/packet.hpp"
#include "backends/redis/resp.hpp"

#include <interlock/backend.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::redis_store {

class layout;

/// Given the reply, or why there is none: `unavailable` if it certainly was not carried out, `indeterminate` if it may
/// have been, otherwise what the server's own error means. Called once, from any thread, with no lock held. The reply
/// lives until it returns.
using reply_handler = unique_function<void(result<reply>), 24>;

/// What was found out about the server when connecting.
struct server_facts {
  std::string version{};    // "7.0.15"
  int version_number = 0;   // 70015; 0: not said
  std::string run_id{};     // changes with every restart; empty: not allowed to ask
  std::int64_t client = 0;  // what the server calls this connection; never given twice in one run
  std::string mode{};       // "standalone", "cluster", "sentinel"
  bool resp3 = false;
  bool sharded_pubsub = false;
};

/// Carries questions to the server that has the keys, and brings the answers. All members may be called from any
/// thread.
class courier {
 public:
  virtual ~courier() = default;

  /// The first connections; waits for them.
  virtual result<void> open() = 0;
  /// Where messages go; to be said before anything is subscribed to.
  virtual void deliver_to(layout& reader) noexcept = 0;

  /// To the master of the packet's slot. Packets about one slot arrive in the order they were sent.
  virtual void send(const packet& what, inline_work here, reply_handler&& done) = 0;
  /// The same; unless the courier knows better, it goes alone: keys of different names may be on different servers.
  virtual void send_short(const short_call& what, inline_work here, reply_handler&& done) {
    auto alone = what;
    alone.all = nullptr;
    send(packet(alone), here, std::move(done));
  }

  /// For questions about everything: how many masters there are, and to one of them.
  [[nodiscard]] virtual std::size_t masters() const = 0;
  virtual void send_to(std::size_t master, const packet& what, reply_handler done) = 0;

  /// From now on messages of this channel reach the layout, over reconnections too. Subscribed twice, unsubscribe
  /// twice. `done`: the server has confirmed it, so a message published from now on is heard.
  virtual void subscribe(std::string_view channel, reply_handler done) = 0;
  virtual void unsubscribe(std::string_view channel) = 0;

  [[nodiscard]] virtual server_facts facts() const = 0;

  /// See backend.
  [[nodiscard]] virtual std::optional<milliseconds> fetches_answers() const noexcept { return {}; }
  virtual void flush() noexcept {}
  [[nodiscard]] virtual int borrow_news() noexcept = 0;
  [[nodiscard]] virtual bool read_news() noexcept = 0;
  [[nodiscard]] virtual backend::arrival await_news() noexcept { return backend::arrival::nothing; }
  virtual void return_news(backend::loan_end as) noexcept = 0;

  /// No handler or message is called after this returned.
  virtual void close() noexcept = 0;
};

}  // namespace interlock::inline v1::redis_store
