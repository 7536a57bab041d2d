// SPDX-License-Identifier: MIT
#pragma once

#include "support/certificates.hpp"
#include "support/reserved_port.hpp"
#include "support/server_process.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace interlock::test_support {

struct postgres_options {
  bool durable = false;                    ///< commits wait for the disk, which a busy machine can make wait for long
  std::vector<std::string> settings{};     ///< "wal_level=minimal"
  std::string copy_of{};                   ///< a running server's URL for libpq: this one is its standby
  std::vector<std::string> environment{};  ///< "NAME=value"
  const certificate* shown = nullptr;      ///< it speaks TLS, too
};

/// Rows of text; NULL is empty.
using postgres_rows = std::vector<std::vector<std::string>>;

/// A PostgreSQL server with data of its own, on a port and a unix socket. Root is not allowed to run one: then it runs
/// as the package's user.
class postgres_server {
 public:
  explicit postgres_server(postgres_options options = {});

  /// For interlock: over TCP, at another port (of a proxy), over the unix socket.
  [[nodiscard]] std::string url(const std::string& query = {}) const { return url_at(port(), query); }
  [[nodiscard]] static std::string url_at(int port, const std::string& query = {},
                                          const std::string& user = "postgres");
  [[nodiscard]] std::string unix_url(const std::string& query = {}) const;
  /// For libpq.
  [[nodiscard]] std::string conninfo() const;

  [[nodiscard]] int port() const noexcept { return port_.number(); }

  /// Behind interlock's back, on a connection of its own: several statements are one transaction; the last one's rows.
  /// Throws std::runtime_error with what the server says.
  postgres_rows command(const std::string& text) const;
  /// One value.
  std::string value(const std::string& text) const;

  /// From now on another certificate, where it speaks TLS.
  void show(const certificate& what) const;

  void stop() { process_.stop(); }
  void kill();
  /// The server and all its sessions.
  void freeze();
  void thaw();
  void restart();
  [[nodiscard]] std::string log() const { return process_.log(); }

 private:
  void start();
  void make_data();
  void await_ready();
  [[nodiscard]] certificate shown() const;
  void copy_shown(const certificate& what) const;
  [[nodiscard]] std::vector<pid_t> sessions() const;

  postgres_options options_;
  reserved_port port_;
  server_process process_;
};

/// A connection that stays, for transactions, LISTEN and advisory locks of somebody who is not interlock.
class postgres_peek {
 public:
  explicit postgres_peek(const std::string& conninfo);
  postgres_peek(postgres_peek&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  postgres_peek& operator=(postgres_peek&&) = delete;
  ~postgres_peek();

  postgres_rows command(const std::string& text);
  std::string value(const std::string& text);

 private:
  void* connection_;
};

}  // namespace interlock::test_support
