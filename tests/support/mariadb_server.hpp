// SPDX-License-Identifier: MIT
#pragma once

#include "support/certificates.hpp"
#include "support/reserved_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

#include <string>
#include <utility>
#include <vector>

namespace interlock::test_support {

struct mariadb_options {
  bool durable = false;                    ///< commits wait for the disk, which a busy machine can make wait for long
  std::vector<std::string> arguments{};    ///< "--read-only"
  std::string folder{};                    ///< for the data, instead of one of its own, in memory
  std::vector<std::string> environment{};  ///< "NAME=value"
  const certificate* shown = nullptr;      ///< it speaks TLS, too
};

/// Rows of text; NULL is empty.
using mariadb_rows = std::vector<std::vector<std::string>>;

/// A MariaDB server with data of its own, on a port and a unix socket.
class mariadb_server {
 public:
  explicit mariadb_server(mariadb_options options = {});

  /// For interlock: over TCP, at another port (of a proxy), over the unix socket.
  [[nodiscard]] std::string url(const std::string& query = {}) const { return url_at(port(), query); }
  [[nodiscard]] static std::string url_at(int port, const std::string& query = {}, const std::string& user = "root");
  [[nodiscard]] std::string unix_url(const std::string& query = {}) const;
  [[nodiscard]] std::string socket() const { return (process_.folder() / "s").string(); }
  [[nodiscard]] int port() const noexcept { return port_.number(); }

  /// Behind interlock's back, on a connection of its own: several statements, separated by semicolons; the last one's
  /// rows. Throws std::runtime_error with what the server says.
  mariadb_rows command(const std::string& text) const;
  /// One value.
  std::string value(const std::string& text) const;
  /// Repeats what another one has written since it was made, and what it writes from now on.
  void follow(const mariadb_server& primary) const;
  /// Ends the sessions of interlock, as an administrator would.
  void end_sessions() const;

  /// From now on another certificate, where it speaks TLS.
  void show(const certificate& what) const;

  void stop() { process_.stop(); }
  void kill() { process_.kill(); }
  void freeze() { process_.freeze(); }
  void thaw() { process_.thaw(); }
  void restart();
  [[nodiscard]] std::string log() const { return process_.log(); }

 private:
  void start();
  void make_data();
  [[nodiscard]] certificate shown() const;

  temporary_folder data_;
  mariadb_options options_;
  reserved_port port_;
  server_process process_;
};

/// A connection that stays, for transactions and locks of somebody who is not interlock.
class mariadb_peek {
 public:
  explicit mariadb_peek(const std::string& socket);
  mariadb_peek(mariadb_peek&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  mariadb_peek& operator=(mariadb_peek&&) = delete;
  ~mariadb_peek();

  mariadb_rows command(const std::string& text);
  std::string value(const std::string& text);

 private:
  void* connection_;
};

}  // namespace interlock::test_support
