// SPDX-License-Identifier: MIT
#pragma once

#include "support/certificates.hpp"
#include "support/reserved_port.hpp"
#include "support/server_process.hpp"
#include "support/tcp_proxy.hpp"
#include "support/zookeeper_peek.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace interlock::test_support {

struct zookeeper_options {
  std::vector<std::string> config{};  ///< more lines of zoo.cfg; they win over ours
  std::vector<std::string> java{};    ///< more words for java: "-Dzookeeper.x=y"
  std::optional<certificate> tls{};   ///< on a port of its own, beside the plain one
  bool mutual = false;                ///< clients must show a certificate of the same authority
};

/// One ZooKeeper server with a folder and ports of its own, alone or a member of an ensemble. Ticks are 200 ms,
/// sessions from 400 ms to ten minutes, containers are looked after every second.
class zookeeper_server {
 public:
  /// It answers when this returns, about a second later.
  explicit zookeeper_server(zookeeper_options options = {});
  /// One for all tests of this process, in order again whatever the one before has done to it. Each needs a root of its
  /// own.
  static zookeeper_server& shared();

  [[nodiscard]] int port() const noexcept { return port_.number(); }
  /// `rest` as in "/chroot?object=rw".
  [[nodiscard]] std::string url(const std::string& rest = {}) const { return url_at(port(), rest); }
  /// The same through a proxy on this port.
  [[nodiscard]] static std::string url_at(int port, const std::string& rest = {});
  /// Over TLS; `rest` names whom to trust.
  [[nodiscard]] std::string tls_url(const std::string& rest = {}) const {
    return "zks://localhost:" + std::to_string(tls_port_->number()) + rest;
  }
  [[nodiscard]] zookeeper_peek connect() const { return zookeeper_peek(port()); }
  /// Four letters: "mntr".
  [[nodiscard]] std::string says(std::string_view word) const { return zookeeper_says(port(), word); }
  /// "leader", "follower", "standalone", or empty while there is none.
  [[nodiscard]] std::string mode() const;
  /// Whether this session is connected here.
  [[nodiscard]] bool serves(std::int64_t session) const;

  void kill() { process_.kill(); }
  void freeze() { process_.freeze(); }
  void thaw() { process_.thaw(); }
  void restart();  ///< with what it has on disk
  void repair();   ///< runs, and answers
  [[nodiscard]] bool running() { return process_.running(); }

 private:
  friend class zookeeper_ensemble;
  struct member {
    int number = 0;
    std::vector<std::string> all{};  ///< "server.1=..." of every member
  };
  zookeeper_server(zookeeper_options options, const member& of);
  void start(const member& of);
  void write_tls(std::ostream& config) const;
  void await_ready();
  void revive();

  zookeeper_options options_;
  reserved_port port_;
  std::optional<reserved_port> tls_port_;
  server_process process_;
};

/// Three servers that decide by majority.
class zookeeper_ensemble {
 public:
  enum class ways : std::uint8_t { direct, breakable /* followers reach their leader over proxies: see part() */ };
  explicit zookeeper_ensemble(ways among = ways::direct);
  /// See zookeeper_server::shared(). One of each kind: over proxies, elections take seconds longer.
  static zookeeper_ensemble& shared(ways among = ways::direct);

  [[nodiscard]] std::string url(const std::string& rest = {}) const;
  [[nodiscard]] std::vector<std::unique_ptr<zookeeper_server>>& servers() noexcept { return servers_; }
  /// The one that leads now; waits for one.
  [[nodiscard]] zookeeper_server& leader();
  [[nodiscard]] zookeeper_server& follower();

  /// Nothing of what this follower and its leader say reaches the other; nobody is told. Votes still do.
  void part(const zookeeper_server& follower);
  /// All of them run and follow one leader, and nothing is parted.
  void repair();

 private:
  void start(ways among);
  [[nodiscard]] zookeeper_server& find(const std::string& mode);
  std::vector<reserved_port> ports_;                           // for their talk among themselves
  std::vector<std::vector<std::unique_ptr<tcp_proxy>>> ways_;  // from each one to the others
  std::vector<std::unique_ptr<zookeeper_server>> servers_;
};

/// The path of a name's node, in the words of docs/backends/zookeeper.md.
std::string zookeeper_path(const std::string& root, std::string_view name);
/// Whether anybody holds it, and removing whoever does, behind everybody's back.
bool somebody_holds(zookeeper_peek& through, const std::string& path);
void remove_holders(zookeeper_peek& through, const std::string& path);

}  // namespace interlock::test_support
