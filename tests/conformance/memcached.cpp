// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MEMCACHED

#include "support/memcached_server.hpp"

#include <interlock/testing/conformance.hpp>

namespace interlock {
namespace {

class memcached_harness final : public testing::harness {
 public:
  std::string url() const override { return server_.url(); }
  std::optional<bool> peek(std::string_view name) override { return server_.item(std::string(name)).has_value(); }
  bool steal(std::string_view name) override {
    static_cast<void>(server_.ask("md ilk1ln:" + std::string(name) + "\r\n"));
    return true;
  }

 private:
  test_support::memcached_server server_;
};

INTERLOCK_CONFORMANCE(memcached, [] { return std::make_unique<memcached_harness>(); });

}  // namespace
}  // namespace interlock

#endif
