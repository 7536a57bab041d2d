// SPDX-License-Identifier: MIT
#pragma once

#include "support/certificates.hpp"
#include "support/reserved_port.hpp"
#include "support/server_process.hpp"

#include <optional>
#include <string>
#include <vector>

namespace interlock::test_support {

/// A Memcached server on a port of its own.
class memcached_server {
 public:
  explicit memcached_server(std::vector<std::string> options = {});
  /// Speaks TLS as well, on another port.
  explicit memcached_server(const certificate* shown);

  [[nodiscard]] std::string url(const std::string& query = {}) const { return url_at(port(), query); }
  [[nodiscard]] static std::string url_at(int port, const std::string& query = {});
  [[nodiscard]] std::string tls_url(const std::string& query) const;
  [[nodiscard]] int port() const noexcept { return port_.number(); }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return process_.folder(); }

  /// What the server answers to these lines, up to and without "MN", behind interlock's back.
  [[nodiscard]] std::string ask(const std::string& commands) const;
  /// The item of a lock, if there is one. Names of plain letters, digits and punctuation only.
  [[nodiscard]] std::optional<std::string> item(const std::string& name) const;

  void kill() { process_.kill(); }
  void freeze() { process_.freeze(); }
  void thaw() { process_.thaw(); }
  void restart();

 private:
  void start();

  std::vector<std::string> options_;
  reserved_port port_, tls_port_;
  std::string place_;  ///< to listen at
  server_process process_;
};

}  // namespace interlock::test_support
