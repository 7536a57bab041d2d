// SPDX-License-Identifier: MIT
#include "support/redis_nodes.hpp"

namespace interlock::test_support {
namespace {

template <class List, class Port>
std::string url_of(const List& all, Port port, const std::string& query, const std::string& scheme) {
  std::string out;
  for (const auto& one : all)
    out += (out.empty() ? scheme + "://127.0.0.1:" : ",127.0.0.1:") + std::to_string(port(one));
  return query.empty() ? out : out + "?" + query;
}

}  // namespace

redis_nodes::redis_nodes(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto one = std::make_unique<node>();
    redis_options how;
    how.environment = one->time.environment();
    one->server = std::make_unique<redis_server>(std::move(how));
    nodes_.push_back(std::move(one));
  }
}

std::string redis_nodes::url(const std::string& query, const std::string& scheme) const {
  return url_of(
      nodes_, [](const auto& one) { return one->server->port(); }, query, scheme);
}

std::size_t redis_nodes::having(const std::string& key) {
  std::size_t out = 0;
  for (const auto& one : nodes_)
    if (one->server->answers() && one->server->command({"EXISTS", key}) == 1) ++out;
  return out;
}

ways_to_nodes::ways_to_nodes(redis_nodes& to) {
  for (std::size_t i = 0; i < to.size(); ++i) ways_.push_back(std::make_unique<tcp_proxy>(to[i].port()));
}

std::string ways_to_nodes::url(const std::string& query) const {
  return url_of(
      ways_, [](const auto& one) { return one->port(); }, query, "redlock");
}

void ways_to_nodes::refuse(std::initializer_list<std::size_t> which) {
  for (const auto i : which) {
    ways_[i]->accepting(false);
    ways_[i]->reset();
  }
}

void ways_to_nodes::cut(std::initializer_list<std::size_t> which) {
  for (const auto i : which) ways_[i]->cut();
}

}  // namespace interlock::test_support
