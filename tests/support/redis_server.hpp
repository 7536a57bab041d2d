// SPDX-License-Identifier: MIT
#pragma once

#include "support/certificates.hpp"
#include "support/redis_peek.hpp"
#include "support/reserved_port.hpp"
#include "support/server_process.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace interlock::test_support {

struct redis_options {
  /// More lines of redis.conf: "maxmemory 2mb", "appendonly yes". They win over ours.
  std::vector<std::string> config{};
  /// Of the default user. Ours knows it, and so does url().
  std::string password{};
  std::string program = "redis-server";
  /// "NAME=value" for the server alone.
  std::vector<std::string> environment{};
  /// The port of a master on 127.0.0.1, or of a proxy in front of it.
  int replica_of = 0;
  /// Listens with TLS too, on a port of its own. Clients may show a certificate and need not.
  std::optional<certificate> tls{};
  /// Further users, as an ACL says them: "locker on >secret ~jobs:* +@all".
  std::vector<std::string> users{};
};

/// A Redis server with ports, a socket and a folder of its own, keeping nothing on disk unless told to.
class redis_server {
 public:
  /// It answers when this returns, 20 to 50 ms later.
  explicit redis_server(redis_options options = {});

  [[nodiscard]] int port() const noexcept { return port_.number(); }
  [[nodiscard]] int tls_port() const noexcept { return tls_port_ ? tls_port_->number() : 0; }
  [[nodiscard]] std::filesystem::path socket() const { return process_.folder() / "redis.sock"; }

  /// `query` as in "layout=plain&x=y".
  [[nodiscard]] std::string url(const std::string& query = {}) const { return url_at(port(), query); }
  /// The same through a proxy on this port.
  [[nodiscard]] std::string url_at(int port, const std::string& query = {}) const;
  /// Trusts who has signed the server's certificate, unless the query names another tls_ca.
  [[nodiscard]] std::string tls_url(const std::string& query = {}) const;
  [[nodiscard]] std::string unix_url(const std::string& query = {}) const;

  /// Behind interlock's back, over the socket, each on a connection of its own, as a user who may do everything.
  /// command() throws what the server says if that is an error; ask() returns it.
  redis_value command(const redis_peek::words& what) const { return connect().command(what); }
  redis_value ask(const redis_peek::words& what) const { return connect().ask(what); }
  [[nodiscard]] redis_peek connect() const;

  [[nodiscard]] std::map<std::string, std::string> info(const std::string& section) const;
  struct command_count {
    std::int64_t calls = 0;
    std::int64_t usec = 0;
  };
  /// By command in small letters, "evalsha", "client|list", since the start or CONFIG RESETSTAT.
  [[nodiscard]] std::map<std::string, command_count> commandstats() const;

  void stop() { process_.stop(); }      ///< politely
  void kill() { process_.kill(); }      ///< -9
  void freeze() { process_.freeze(); }  ///< to its clients it looks like a silent network
  void thaw() { process_.thaw(); }
  void restart();  ///< the same ports; with what it has kept on disk, if anything
  [[nodiscard]] bool running() { return process_.running(); }
  /// Runs and is not frozen.
  [[nodiscard]] bool answers() { return process_.running() && !process_.frozen(); }
  [[nodiscard]] server_process& process() noexcept { return process_; }

 private:
  [[nodiscard]] std::string config() const;
  [[nodiscard]] std::string user_info() const;
  void write_config() const;
  void await_ready();
  bool start();

  redis_options options_;
  reserved_port port_;
  std::optional<reserved_port> tls_port_;
  server_process process_;
};

}  // namespace interlock::test_support
