// SPDX-License-Identifier: MIT
#pragma once

#include "tcp.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

/// The floor of everything about ZooKeeper: a session on a blocking socket, and the least that makes a lock of nodes.
class raw_zookeeper {
 public:
  /// Makes the node `lock`, below which it contends.
  raw_zookeeper(std::uint16_t port, std::string lock);
  raw_zookeeper(const raw_zookeeper&) = delete;
  raw_zookeeper& operator=(const raw_zookeeper&) = delete;
  ~raw_zookeeper();

  /// A node of this session and the list of all, in one write and awaited; then the node is removed.
  void pair();
  /// The node alone, which stays as long as this object, and asks for nothing.
  void hold();

 private:
  void put(std::string_view body);
  void send();
  /// The next answer's body; what it refuses throws, unless it is `fine`.
  std::string_view receive(int fine = 0);
  void fill(std::size_t least);

  tcp_socket socket_;
  const std::string lock_;
  std::string create_, list_;
  std::string out_;
  std::string in_;
  std::size_t begin_ = 0, end_ = 0;
  std::int32_t number_ = 0;
};

}  // namespace bench
