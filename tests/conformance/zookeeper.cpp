// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "support/zookeeper_server.hpp"

#include <interlock/testing/conformance.hpp>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>

/// A server takes a second to start, so one set of them serves the whole suite, in one process; each test has a root of
/// its own: INTERLOCK_ZOOKEEPER=ensemble conformance_tests --gtest_filter='*/zookeeper_ensemble'
namespace interlock {
namespace {

using namespace test_support;

class zookeeper_harness final : public testing::harness {
 public:
  zookeeper_harness(std::string url, int port, std::string query)
      : url_(std::move(url)), query_(std::move(query)), peek_(port) {
    static int tests = 0;
    root_ = "/test-" + std::to_string(++tests);
  }
  ~zookeeper_harness() override {
    try {
      peek_.remove_tree(root_);
    } catch (const std::exception&) {  // somebody of this test is still busy there; the server ends with the program
    }
  }
  zookeeper_harness(const zookeeper_harness&) = delete;
  zookeeper_harness& operator=(const zookeeper_harness&) = delete;

  std::string url() const override { return url_ + root_ + query_; }
  std::optional<bool> peek(std::string_view name) override {
    return somebody_holds(peek_, zookeeper_path(root_, name));
  }
  bool steal(std::string_view name) override {
    remove_holders(peek_, zookeeper_path(root_, name));
    return true;
  }

 private:
  std::string url_, query_, root_;
  zookeeper_peek peek_;
};

template <class F>
void add(const std::string& kind, F make) {
  testing::register_conformance("zookeeper_" + kind, make);
}

std::unique_ptr<testing::harness> on_one_server(const std::string& query) {
  static const zookeeper_server server;
  return std::make_unique<zookeeper_harness>(server.url(), server.port(), query);
}

[[maybe_unused]] const bool zookeeper_asked_for = [] {
  const char* wanted = std::getenv("INTERLOCK_ZOOKEEPER");
  if (wanted == nullptr) return false;
  const std::string kind(wanted);
  if (kind == "rw") add(kind, [] { return on_one_server("?object=rw"); });
  if (kind == "kazoo") add(kind, [] { return on_one_server("?layout=kazoo"); });
  if (kind == "ensemble")
    add(kind, [] {
      static zookeeper_ensemble servers;
      return std::make_unique<zookeeper_harness>(servers.url(), servers.follower().port(), "");
    });
  return true;
}();

}  // namespace
}  // namespace interlock

#endif
