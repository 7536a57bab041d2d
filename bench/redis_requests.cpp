// SPDX-License-Identifier: MIT
#include "redis_requests.hpp"

#include "tapped_link.hpp"

#include <interlock/client.hpp>

#include <stdexcept>

namespace bench {

std::vector<pair_of_requests> requests_for(std::uint16_t port, const std::vector<std::string>& names) {
  tapped_link link(port, 0);
  const interlock::client locks(link.url());
  locks.acquire(names.front()).release().value();  // brings the scripts with it
  link.heard();
  std::vector<pair_of_requests> out;
  for (const auto& name : names) {
    locks.acquire(name).release().value();
    auto heard = link.heard();
    if (heard.size() != 2) throw std::runtime_error("a pair took " + std::to_string(heard.size()) + " requests, not 2");
    out.push_back({std::move(heard[0].bytes), std::move(heard[1].bytes)});
  }
  return out;
}

std::vector<std::string> numbered(const std::string& prefix, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(prefix + "/" + std::to_string(i));
  return out;
}

}  // namespace bench
