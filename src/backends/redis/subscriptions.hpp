// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Which channels are wanted, and how often.
class subscriptions {
 public:
  /// true: it was not wanted before.
  bool add(std::string_view channel) {
    const auto found = wanted_.find(channel);
    if (found != wanted_.end()) return ++found->second, false;
    wanted_.emplace(std::string(channel), 1U);
    return true;
  }
  /// true: nobody wants it any more.
  bool remove(std::string_view channel) {
    const auto found = wanted_.find(channel);
    if (found == wanted_.end() || --found->second > 0) return false;
    wanted_.erase(found);
    return true;
  }
  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> out;
    for (const auto& [channel, times] : wanted_) out.push_back(channel);
    return out;
  }

 private:
  std::map<std::string, unsigned, std::less<>> wanted_;
};

}  // namespace interlock::inline v1::redis_store
