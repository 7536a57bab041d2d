// SPDX-License-Identifier: MIT
#pragma once

#include "backends/quorum/settings.hpp"
#include "backends/redis/layout.hpp"
#include "backends/redis/master_courier.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace interlock::inline v1::quorum_store {

/// What a server says of itself after it was connected to: whether it is the one that it was.
struct node_memory {
  std::string run_id{};  ///< changes with every restart; empty: not told
  std::string mark{};    ///< the run in which somebody last took it for good; empty: it remembers nothing
  bool readable = true;  ///< false: we may not read the mark
  bool synced = false;   ///< every write was on its disk before it was confirmed
  std::chrono::seconds up_for{0};
};

/// One of the servers: the way to it, and how locks are written there. It keeps trying to connect.
class node final : public backend_events {
 public:
  /// Told with no lock held, from any thread.
  class owner {
   public:
    virtual void link(unsigned node, bool up) noexcept = 0;
    virtual void remembers(unsigned node, const node_memory& what) noexcept = 0;
    virtual void hint(unsigned node, const claim_secret& whom) noexcept = 0;
    virtual void evicted(unsigned node, const claim_secret& whom) noexcept = 0;

   protected:
    ~owner() = default;
  };

  static result<std::unique_ptr<node>> make(unsigned number, const backend_environment& environment,
                                            const quorum_settings::server& which, owner& of);
  void start();

  [[nodiscard]] redis_store::layout& locks() noexcept { return *locks_; }
  [[nodiscard]] const std::shared_ptr<redis_store::master_courier>& way() const noexcept { return way_; }
  [[nodiscard]] const quorum_settings::server& server() const noexcept { return server_; }
  [[nodiscard]] std::string shown() const { return server_.redis.endpoints.front().shown(); }
  [[nodiscard]] bool up() const noexcept { return up_.load(); }

  /// Writes back the token of a grant.
  struct token_news {
    std::uint64_t to = 0;          ///< what is the least from now on
    std::uint64_t token = 0;       ///< of the claim
    std::uint64_t instead_of = 0;  ///< made here too late, and seen by nobody
    bool behind = false;           ///< it is told behind a question that may still make such a one
  };
  void raise(const claim& who, const token_news& what, inline_work here, completion<bool> done);
  /// From now on its memory is taken for good, until it is restarted again.
  void mark(const std::string& run_id, unique_function<void()> done);
  /// remembers() follows, if it can be asked.
  void inquire() noexcept;

  void close() noexcept { way_->close(); }

  // backend_events, from the Redis store's side
  void granted(const claim_secret& who, const standing&) noexcept override { owner_.hint(number_, who); }
  void look_again(const claim_secret& who) noexcept override { owner_.hint(number_, who); }
  void evicted(const claim_secret& who) noexcept override { owner_.evicted(number_, who); }
  void link(bool up) noexcept override;
  void another_server() noexcept override {}

 private:
  node(unsigned number, const quorum_settings::server& which, owner& of)
      : number_(number), server_(which), owner_(of) {}
  struct inquiry;

  const unsigned number_;
  const quorum_settings::server server_;
  owner& owner_;
  std::shared_ptr<redis_store::master_courier> way_;
  std::unique_ptr<redis_store::layout> locks_;
  std::atomic<bool> up_{false};
};

}  // namespace interlock::inline v1::quorum_store
