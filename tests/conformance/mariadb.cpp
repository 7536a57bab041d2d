// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/mariadb_server.hpp"

#include <interlock/testing/conformance.hpp>

#include <cstdlib>
#include <memory>
#include <string>

/// A server takes a second to be made, and its tables a tenth, so one of each serves the whole suite, in one process:
/// INTERLOCK_MARIADB=tcp conformance_tests --gtest_filter='*/mariadb_tcp'
namespace interlock {
namespace {

using namespace test_support;

class mariadb_harness final : public testing::harness {
 public:
  mariadb_harness(mariadb_server& server, std::string way) : server_(server), way_(std::move(way)) {
    if (is_made()) server_.command("delete from " + table("claim") + "; delete from " + table("name"));
  }

  std::string url() const override {
    const std::string named = "schema=Te%60st%20'1&table=i%27l";
    return way_ == "unix" ? server_.unix_url(named) : server_.url(named);
  }
  std::optional<bool> peek(std::string_view name) override {
    return is_made() && server_.value("select count(*) > 0 from " + holders(name)) == "1";
  }
  bool steal(std::string_view name) override {
    server_.command("delete from " + holders(name));
    return true;
  }

 private:
  static std::string table(const std::string& ending) { return "`Te``st '1`.`i'l_" + ending + "`"; }
  bool is_made() const {
    return server_.value("select count(*) from information_schema.tables where table_name = 'i''l_meta'") == "1";
  }
  std::string holders(std::string_view name) const {
    std::string hex;
    for (const char c : name) {
      constexpr auto digits = "0123456789abcdef";
      hex += digits[static_cast<unsigned char>(c) >> 4];
      hex += digits[static_cast<unsigned char>(c) & 15];
    }
    return table("claim") + " where name = x'" + hex +
           "' and state = 'h' and ends >= timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";
  }

  mariadb_server& server_;
  std::string way_;
};

[[maybe_unused]] const bool asked_for = [] {
  const char* const wanted = std::getenv("INTERLOCK_MARIADB");
  if (wanted == nullptr || *wanted == '\0') return false;
  return testing::register_conformance("mariadb_" + std::string(wanted), [way = std::string(wanted)] {
    static mariadb_server server;
    return std::make_unique<mariadb_harness>(server, way);
  });
}();

}  // namespace
}  // namespace interlock

#endif
