// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/redis_server.hpp"

#include <interlock/testing/conformance.hpp>

#include <string>
#include <utility>

namespace interlock {
namespace {

class redisson_harness final : public testing::harness {
 public:
  explicit redisson_harness(std::string object) : object_(std::move(object)) {}

  std::string url() const override { return server_.url("layout=redisson&object=" + object_); }
  std::optional<bool> peek(std::string_view name) override {
    const std::string key(name);
    if (server_.command({"TYPE", key}) == "hash") return true;
    return server_.command({"ZCARD", "{" + key + "}:timeout"}).number > 0;
  }
  // What somebody at a prompt would do.
  bool steal(std::string_view name) override {
    server_.command({"DEL", std::string(name)});
    return true;
  }

 private:
  std::string object_;
  test_support::redis_server server_;
};

testing::harness_factory redisson(const char* object) {
  return [object] { return std::make_unique<redisson_harness>(object); };
}

INTERLOCK_CONFORMANCE(redis_redisson_lock, redisson("lock"));
INTERLOCK_CONFORMANCE(redis_redisson_fenced, redisson("fenced"));
INTERLOCK_CONFORMANCE(redis_redisson_rw, redisson("rw"));
INTERLOCK_CONFORMANCE(redis_redisson_fair, redisson("fair"));

}  // namespace
}  // namespace interlock

#endif
