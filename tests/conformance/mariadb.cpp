// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"

#include "backends/mysql/user_lock_key.hpp"

#include <interlock/testing/conformance.hpp>

#include <cstdlib>
#include <memory>
#include <string>

/// A server takes a second to be made, and its tables a tenth, so one of each serves the whole suite, in one process:
/// INTERLOCK_MARIADB=tcp conformance_tests --gtest_filter='*/mariadb_tcp'
namespace interlock {
namespace {

using namespace test_support;

// Names may be anything.
std::string hex(std::string_view bytes) {
  constexpr auto digits = "0123456789abcdef";
  std::string out = "x'";
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out + "'";
}

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
    return table("claim") + " where name = " + hex(name) +
           " and state = 'h' and ends >= timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))";
  }

  mariadb_server& server_;
  std::string way_;
};

/// User locks: there is nothing to make or to remove. Over the unix socket, so that this way is walked too.
class mariadb_session_harness final : public testing::harness {
 public:
  explicit mariadb_session_harness(mariadb_server& server) : server_(server) {}
  std::string url() const override { return server_.unix_url("mode=session"); }
  std::optional<bool> peek(std::string_view name) override { return !holder(name).empty(); }
  bool steal(std::string_view name) override {
    const auto who = holder(name);
    if (who.empty()) return true;
    server_.command("kill " + who);  // the client is told before the lock is free
    return eventually([&] { return holder(name) != who; });
  }

 private:
  [[nodiscard]] std::string holder(std::string_view name) const {
    const auto key = mysql_store::user_lock_key(name, mysql_store::key_rule::medallion).value();
    return server_.value("select is_used_lock(convert(" + hex(key) + " using utf8mb4))");
  }
  mariadb_server& server_;
};

[[maybe_unused]] const bool mariadb_asked_for = [] {
  const char* const wanted = std::getenv("INTERLOCK_MARIADB");
  if (wanted == nullptr || *wanted == '\0') return false;
  return testing::register_conformance("mariadb_" + std::string(wanted), [way = std::string(wanted)] {
    static mariadb_server server;
    if (way == "session") return std::unique_ptr<testing::harness>(std::make_unique<mariadb_session_harness>(server));
    return std::unique_ptr<testing::harness>(std::make_unique<mariadb_harness>(server, way));
  });
}();

}  // namespace
}  // namespace interlock

#endif
