// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "support/etcd_server.hpp"

#include <interlock/testing/conformance.hpp>

#include <cstdlib>
#include <memory>
#include <string>

/// etcd writes its log ahead into files of 64 MB, which take half a second to make: one server, or one cluster, serves
/// the whole suite, each test under a prefix of its own:
/// INTERLOCK_ETCD_DEPLOYMENT=cluster conformance_tests --gtest_filter='*/etcd_cluster'
namespace interlock {
namespace {

using namespace test_support;

class etcd_harness final : public testing::harness {
 public:
  explicit etcd_harness(etcd_server& server) : server_(server) {
    static int tests = 0;
    prefix_ = "test" + std::to_string(++tests) + "/";
  }
  std::string url() const override { return server_.url("/" + prefix_); }
  std::optional<bool> peek(std::string_view name) override {
    return etcd_line(server_, prefix_, name).somebody_holds();
  }
  bool steal(std::string_view name) override {
    etcd_line(server_, prefix_, name).remove_holders();
    return true;
  }

 private:
  etcd_server& server_;
  std::string prefix_;
};

[[maybe_unused]] const bool etcd_asked_for = [] {
  const char* wanted = std::getenv("INTERLOCK_ETCD_DEPLOYMENT");
  if (wanted == nullptr || *wanted == '\0') return false;
  const std::string deployment = wanted;
  return testing::register_conformance("etcd_" + deployment, [deployment] {
    static etcd_server server({.members = deployment == "cluster" ? 3 : 1});
    return std::make_unique<etcd_harness>(server);
  });
}();

}  // namespace
}  // namespace interlock

#endif
