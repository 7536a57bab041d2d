// SPDX-License-Identifier: MIT
#pragma once

#include "support/moved_clock.hpp"
#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::test_support {

/// Independent Redis masters, each with a clock of its own that can be moved.
class redis_nodes {
 public:
  explicit redis_nodes(std::size_t count);

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  redis_server& operator[](std::size_t i) { return *nodes_[i]->server; }
  moved_clock& clock(std::size_t i) { return nodes_[i]->time; }

  [[nodiscard]] std::string url(const std::string& query = {}, const std::string& scheme = "redlock") const;
  /// How many nodes have the key, asked behind interlock's back; those that do not answer are not asked.
  [[nodiscard]] std::size_t having(const std::string& key);

 private:
  struct node {
    moved_clock time{};
    std::unique_ptr<redis_server> server{};
  };
  std::vector<std::unique_ptr<node>> nodes_;
};

/// One client's own ways to the nodes, each of which can be cut.
class ways_to_nodes {
 public:
  explicit ways_to_nodes(redis_nodes& to);
  [[nodiscard]] std::string url(const std::string& query = {}) const;
  tcp_proxy& operator[](std::size_t i) { return *ways_[i]; }
  /// Connections are refused and those that are open are reset: the client knows that it cannot ask.
  void refuse(std::initializer_list<std::size_t> which);
  void cut(std::initializer_list<std::size_t> which);

 private:
  std::vector<std::unique_ptr<tcp_proxy>> ways_;
};

}  // namespace interlock::test_support
