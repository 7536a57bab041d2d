// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/redisson_names.hpp"
#include "support/redis_server.hpp"
#include "testing/conformance/asking.hpp"
#include "testing/fault_link.hpp"
#include "testing/faulty_backend.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// A Redis server, the state that Redisson would leave in it, and our backend with no engine in between, so that
/// nothing happens but what a test asks for.
namespace interlock::test_support {

using namespace std::chrono_literals;
using kind = standing::kind;
namespace names = redis_store::redisson;

/// Owners as two Java processes would have them.
inline const std::string java = "3fa2b6de-0c59-4c29-9a3f-5a4c2f6c6b01:57";
inline const std::string other_java = "9b1ddf4b-7a3e-4f0e-8d67-2f1b7c0a9e42:103";

class redisson_table : public ::testing::Test {
 protected:
  void open(const std::string& query) {
    link_ = std::make_shared<testing::fault_link>();
    locks_ = std::make_unique<client>(testing::url_through(link_, server.url("layout=redisson&" + query)));
    link_->treat_pushes(testing::fault_link::pushes::drop);
  }
  [[nodiscard]] backend& db() const { return link_->store(); }
  [[nodiscard]] const client& locks() const { return *locks_; }

  redis_value run(const redis_peek::words& what) { return server.command(what); }
  /// Redisson's own steps, several at once, in the order of the table they are in.
  void state(const std::vector<redis_peek::words>& steps) {
    for (const auto& one : steps) run(one);
  }

  /// Everything in the server but what interlock keeps for itself: key -> what is in it.
  [[nodiscard]] std::map<std::string, std::string> content() {
    std::map<std::string, std::string> out;
    const auto keys = run({"KEYS", "*"});
    for (const auto& key : keys.list)
      if (!key.text.starts_with("ilk1:")) out[key.text] = shown(key.text);
    return out;
  }
  using state_map = std::map<std::string, std::string>;

  [[nodiscard]] std::int64_t left(const std::string& key) { return run({"PTTL", key}).number; }
  [[nodiscard]] std::int64_t server_now() {
    const auto time = run({"TIME"});
    return std::stoll(time[0].text) * 1000 + std::stoll(time[1].text) / 1000;
  }
  [[nodiscard]] double score(const std::string& key, const std::string& member) {
    const auto found = run({"ZSCORE", key, member});
    return found.nil() ? -1 : std::stod(found.text);
  }

  static std::string owner(const claim& who) { return names::owner_of(who.secret); }
  static std::string permit(const claim& who) {
    return {reinterpret_cast<const char*>(who.secret.bytes().data()), who.secret.bytes().size()};
  }

  redis_server server;

 private:
  std::string shown(const std::string& key) {
    const auto type = run({"TYPE", key}).text;
    if (type == "string") return run({"GET", key}).text;
    std::string out = type + ":";
    const auto all = type == "hash"   ? run({"HGETALL", key})
                     : type == "list" ? run({"LRANGE", key, "0", "-1"})
                                      : run({"ZRANGE", key, "0", "-1"});
    std::vector<std::string> parts;
    if (type == "hash") {
      for (std::size_t i = 0; i + 1 < all.size(); i += 2) parts.push_back(all[i].text + "=" + all[i + 1].text);
      std::sort(parts.begin(), parts.end());
    } else {
      for (const auto& one : all.list) parts.push_back(one.text);
    }
    for (const auto& one : parts) out += " " + one;
    return out;
  }

  std::shared_ptr<testing::fault_link> link_;
  std::unique_ptr<client> locks_;
};

/// What is published on some channels from now on.
class listener {
 public:
  listener(const redis_server& server, const std::vector<std::string>& channels) : from_(server.connect()) {
    for (const auto& one : channels) {
      from_.send({"SUBSCRIBE", one});
      from_.receive();
    }
  }
  /// "channel payload", in order. `expected` of them are waited for; what comes too much is seen soon after.
  std::vector<std::string> heard(std::size_t expected) {
    std::vector<std::string> out;
    for (;;) {
      try {
        const auto one = from_.receive(out.size() < expected ? 10s : 50ms);
        out.push_back(one[1].text + " " + one[2].text);
      } catch (const std::runtime_error&) {
        return out;
      }
    }
  }

 private:
  redis_peek from_;
};

using messages = std::vector<std::string>;

}  // namespace interlock::test_support
