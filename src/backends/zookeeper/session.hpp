// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/link.hpp"

#include "core/random.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace interlock::inline v1::zookeeper_store {

/// What all sessions of a client have in common.
struct session_settings {
  std::vector<endpoint> servers{};
  std::function<std::string()> credentials{};  ///< "user:password", asked at every connection; unset: nobody
  milliseconds connect_timeout{2'000};         ///< for one server
  std::shared_ptr<net::tls_context> tls{};     ///< unset: no TLS
};

/// A session: what nodes belong to, and die with. It lives on while its connection is lost and found again, at whatever
/// server; when the servers say that it is over, another one begins, and nothing of the old one is believed.
///
/// That it is over is only ever learned from a server. Nobody has to wait for that: leases are counted by the core,
/// from the last question that was answered, and no lease is longer than the session.
class session final : public link::owner, public std::enable_shared_from_this<session> {
 public:
  /// Called with no lock held.
  class owner {
   public:
    /// It can be used. `fresh`: it is a new one, without nodes.
    virtual void established(session& which, bool fresh) noexcept = 0;
    /// The connection is lost; the session may live on. Everything under way has been answered.
    virtual void adrift(session& which) noexcept = 0;
    /// The servers have forgotten it, and its nodes.
    virtual void expired(session& which) noexcept = 0;
    /// Every server was tried and none would have us. It goes on trying.
    virtual void failed(session& which, const failure& why) noexcept = 0;
    virtual void watched(session& which, const watch_event& what) noexcept = 0;

   protected:
    ~owner() = default;
  };

  session(const session_settings& settings, milliseconds wanted, reactor& loop, const time_source& time, owner& of);

  void open();
  /// Its owner is not called any more after this returned, unless by this very thread.
  void close() noexcept;

  [[nodiscard]] bool is_up() const;
  /// Whether it ever was: what is asked before that waits for it.
  [[nodiscard]] bool was_up() const;
  [[nodiscard]] std::int64_t id() const;
  /// As granted by the servers.
  [[nodiscard]] milliseconds timeout() const;
  [[nodiscard]] std::string server() const;

  /// false: not connected.
  bool send(std::string request, link::sending when, answer_handler done, together as = together::never);
  /// Keeps it alive and looks after silence. Returns when to be called again.
  instant tend(instant now);

  [[nodiscard]] std::shared_ptr<link> current() const;

 private:
  // link::owner
  void greeted(link& which, reader greeting) noexcept override;
  void ended(link& which, const failure& why) noexcept override;
  void watched(link& which, const watch_event& what) noexcept override;
  void ponged(link&, instant) noexcept override {}
  void authenticated(link& which, int error) noexcept override;

  void connect();
  [[nodiscard]] milliseconds silence() const;

  const session_settings& settings_;
  const milliseconds wanted_;
  reactor& loop_;
  const time_source& time_;
  owner& owner_;

  std::recursive_mutex telling_;  // held as long as a link or the owner is being answered; taken before the other
  mutable std::mutex mutex_;      // everything below
  std::shared_ptr<link> link_;
  instant connecting_since_{};
  std::size_t next_server_;
  unsigned failures_ = 0;  // in a row
  bool up_ = false, was_up_ = false, closed_ = false;
  std::int64_t id_ = 0, last_change_ = 0;
  std::string password_;
  milliseconds timeout_{0};
  std::optional<failure> denied_;
  core::kernel_random random_;
};

}  // namespace interlock::inline v1::zookeeper_store
