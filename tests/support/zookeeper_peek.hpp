// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::test_support {

/// A connection to a ZooKeeper server that has nothing to do with interlock: it speaks the protocol in its own words.
/// Throws std::runtime_error if the server cannot be reached or answers with an error nobody asked about.
class zookeeper_peek {
 public:
  /// With a session and a password given: takes that session over.
  explicit zookeeper_peek(int port, std::int64_t session = 0, std::string_view password = {});
  zookeeper_peek(const zookeeper_peek&) = delete;
  zookeeper_peek& operator=(const zookeeper_peek&) = delete;
  ~zookeeper_peek();

  [[nodiscard]] std::int64_t session() const noexcept { return session_; }
  [[nodiscard]] const std::string& password() const noexcept { return password_; }
  /// In ms, as the server granted it.
  [[nodiscard]] int timeout() const noexcept { return timeout_; }

  /// Nothing: there is no such node.
  std::optional<std::vector<std::string>> children(const std::string& path);
  struct node {
    std::string data{};
    std::int64_t czxid = 0;
    std::int64_t owner = 0;
    std::int32_t children = 0;
  };
  std::optional<node> read(const std::string& path);
  /// flags: 0 lasting, 1 ephemeral, 3 ephemeral and sequential, 4 container. The path as made.
  std::string create(const std::string& path, const std::string& data, int flags);
  void write(const std::string& path, const std::string& data);
  /// false: there is no such node.
  bool remove(const std::string& path);
  /// With everything below it.
  void remove_tree(const std::string& path);
  /// Ends the session, not only the connection.
  void close_session();

 private:
  struct answer {
    int error = 0;
    std::string body{};
  };
  answer ask(std::int32_t kind, const std::string& body);
  void send(const std::string& frame) const;
  [[nodiscard]] std::string receive() const;

  int socket_ = -1;
  std::int32_t number_ = 0;
  std::int64_t session_ = 0;
  std::string password_;
  int timeout_ = 0;
};

/// A socket; throws if nobody listens.
int connect_to_zookeeper(int port, int patience_ms = 10'000);

/// What the server says to "srvr", "mntr", "cons", "wchs"...
std::string zookeeper_says(int port, std::string_view word);

}  // namespace interlock::test_support
