// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/cluster_ears.hpp"
#include "backends/redis/cluster_map.hpp"
#include "backends/redis/connection.hpp"
#include "backends/redis/courier.hpp"
#include "backends/redis/layout.hpp"

#include "core/random.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Keys are spread over the masters of a cluster: one connection to each. Follows MOVED and ASK, and asks for the map
/// again when it turns out to be old or a node falls silent.
class cluster_courier final : public courier,
                              public connection::owner,
                              public std::enable_shared_from_this<cluster_courier> {
 public:
  cluster_courier(const backend_environment& environment, connection_settings settings, std::vector<endpoint> seeds);

  // courier
  result<void> open() override;  // until some node has shown the map and all its masters are connected
  void deliver_to(layout& reader) noexcept override { layout_.store(&reader); }
  void send(const packet& what, inline_work here, reply_handler&& done) override;
  [[nodiscard]] std::size_t masters() const override;
  void send_to(std::size_t master, const packet& what, reply_handler done) override;
  void subscribe(std::string_view channel, reply_handler done) override;
  void unsubscribe(std::string_view channel) override;
  [[nodiscard]] server_facts facts() const override;
  void flush() noexcept override;
  [[nodiscard]] int borrow_news() noexcept override { return -1; }  // there is more than one to listen to
  [[nodiscard]] bool read_news() noexcept override { return false; }
  void return_news(backend::loan_end) noexcept override {}
  void close() noexcept override;

  // connection::owner
  void up(connection& which, const server_facts& found) noexcept override;
  void down(connection& which, const failure& why) noexcept override;
  void pushed(connection& which, reply what) noexcept override;
  bool refused(connection& which, const refusal& what, reply_handler& done) noexcept override;

 private:
  using pointer = std::shared_ptr<connection>;
  /// Somebody's request that has to wait for a connection.
  struct parked {
    std::string bytes;
    const script* called;
    unsigned hops;
    bool asking;
    reply_handler done;
  };
  struct node {
    pointer link;
    pointer ears;  // messages, where the link cannot bring them too (RESP2)
    server_facts facts;
    connection::forerunners forerunners;
    std::string run_id;
    unsigned attempts = 0;
    bool is_up = false;
    bool retrying = false;
    std::vector<parked> waiting;
    [[nodiscard]] const pointer& hears() const noexcept { return ears ? ears : link; }
  };

  [[nodiscard]] static failure nowhere(std::string_view why) {
    return failure(errc::unavailable, "redis cluster: " + std::string(why));
  }
  pointer connect_to(const endpoint& where);
  void ready(const endpoint& where) noexcept;
  void connect_later(const endpoint& where) noexcept;
  void refresh_soon() noexcept;
  void refresh();
  void ask_map(const pointer& whom);
  void learned(const endpoint& asked, const result<reply>& slots);
  void adopt(cluster_map found);
  void settle_opening(const failure* why);
  void forward(const endpoint& where, parked what);

  // cluster_hearing.cpp
  void hear(std::function<void()> then = {}) noexcept;
  void ask_for(const cluster_ears::missing& what, reply_handler done);
  [[nodiscard]] cluster_ears::pointer shard_of(std::string_view channel) const;
  void choose_ears();

  [[nodiscard]] const node* owner_of(std::uint16_t slot) const;
  [[nodiscard]] pointer at_slot(std::uint16_t slot) const;
  [[nodiscard]] pointer any_up() const;

  reactor& loop_;
  const time_source& time_;
  backend_events& events_;
  const connection_settings settings_;
  const std::vector<endpoint> seeds_;
  std::atomic<layout*> layout_{nullptr};

  mutable std::mutex mutex_;  // everything below
  std::condition_variable first_;
  std::optional<result<void>> opened_;
  std::map<std::pair<std::string, std::uint16_t>, node> nodes_;
  cluster_map map_;
  bool mapped_ = false;
  bool refreshing_ = false;
  std::size_t next_seed_ = 0;
  cluster_ears ears_;
  server_facts facts_;
  bool closed_ = false;
  core::kernel_random random_;
};

}  // namespace interlock::inline v1::redis_store
