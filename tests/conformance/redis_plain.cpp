// SPDX-License-Identifier: MIT
#if defined(INTERLOCK_WITH_REDIS)

#include "support/redis_server.hpp"

#include <interlock/testing/conformance.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

/// A server for each test, and its key spelt as other libraries would have it.
class plain_harness final : public interlock::testing::harness {
 public:
  plain_harness(std::string before, std::string query) : before_(std::move(before)), query_(std::move(query)) {}

  std::string url() const override { return server_.url(query_); }
  std::optional<bool> peek(std::string_view name) override {
    return server_.command({"EXISTS", before_ + std::string(name)}) == 1;
  }
  bool steal(std::string_view name) override {
    server_.command({"DEL", before_ + std::string(name)});
    return true;
  }

 private:
  interlock::test_support::redis_server server_;
  const std::string before_, query_;
};

}  // namespace

INTERLOCK_CONFORMANCE(redis_plain, [] { return std::make_unique<plain_harness>("", "layout=plain"); });
INTERLOCK_CONFORMANCE(redis_plain_bare,
                      [] { return std::make_unique<plain_harness>("lock:", "layout=plain&token=none&key=lock:*"); });

#endif
