// SPDX-License-Identifier: MIT
#pragma once

#include "interop/redisson/java_peer.hpp"
#include "support/redis_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

namespace interlock::test_support {

using namespace std::chrono_literals;

/// Long enough that whoever is woken by a timer and not by the release is noticed.
inline constexpr milliseconds long_lease{30'000}, promptly{1'000};

/// One server and one Redisson for all tests of a suite; each test has names of its own.
class meeting : public ::testing::Test {
 public:
  static void SetUpTestSuite() {
    server_ = std::make_unique<redis_server>();
    java_ = std::make_unique<java_peer>("single", server_->port(), long_lease);
  }
  static void TearDownTestSuite() {
    java_.reset();
    server_.reset();
  }

 protected:
  static java_peer& java() { return *java_; }
  static redis_server& server() { return *server_; }
  static std::string url(const std::string& object) { return server_->url("layout=redisson&object=" + object); }
  static std::string fresh_name() {
    static int names = 0;
    return "meeting/" + std::to_string(++names);
  }

 private:
  static inline std::unique_ptr<redis_server> server_;
  static inline std::unique_ptr<java_peer> java_;
};

/// The same exclusive thing on either side.
class rival {
 public:
  /// `object` as Redisson has it: lock, fenced, write, fair, or semaphore, which is one of one permit.
  rival(std::string url, std::string object, std::string name)
      : locks_(url), object_(std::move(object)), name_(std::move(name)) {}

  [[nodiscard]] static std::string in_url(const std::string& object) {
    return object == "write" ? "rw" : object == "semaphore" ? "lock" : object;
  }
  result<guard> take(acquire_options how = {}) const {
    if (object_ == "semaphore") return semaphore(locks_, name_, 1).attempt(how);
    return locks_.attempt(name_, how);
  }
  pending<guard> queue(acquire_options how = {}) const {
    if (object_ == "semaphore") return semaphore(locks_, name_, 1).async_acquire(how);
    return locks_.async_acquire(name_, how);
  }
  [[nodiscard]] const client& locks() const noexcept { return locks_; }

 private:
  client locks_;
  std::string object_, name_;
};

/// Until what is held now runs out, by the server's clock. Of a semaphore: the permit that ends first.
inline milliseconds time_left(const redis_server& server, const std::string& object, const std::string& name) {
  if (object != "semaphore") return milliseconds{server.command({"PTTL", name}).number};
  const auto time = server.command({"TIME"});
  const auto now = std::stoll(time[0].text) * 1000 + std::stoll(time[1].text) / 1000;
  const auto first = server.command({"ZRANGE", "{" + name + "}:timeout", "0", "0", "WITHSCORES"});
  return milliseconds{first.size() == 2 ? static_cast<std::int64_t>(std::stod(first[1].text)) - now : -2};
}

/// How long it took, for messages and bounds.
template <class F>
milliseconds time_of(F work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - begin);
}

}  // namespace interlock::test_support
