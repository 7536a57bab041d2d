// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/redis_native_book.hpp"

#include <interlock/testing/conformance.hpp>

namespace interlock {
namespace {

class redis_native_harness final : public testing::harness {
 public:
  std::string url() const override { return server_.url(); }
  std::optional<bool> peek(std::string_view name) override {
    return test_support::redis_native_book(server_, name).somebody_holds();
  }
  bool steal(std::string_view name) override {
    test_support::redis_native_book(server_, name).remove_holders();
    return true;
  }

 private:
  test_support::redis_server server_;
};

INTERLOCK_CONFORMANCE(redis_native, [] { return std::make_unique<redis_native_harness>(); });

}  // namespace
}  // namespace interlock

#endif
