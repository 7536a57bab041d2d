// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/postgres_server.hpp"

#include "backends/postgres/advisory_key.hpp"

#include <interlock/testing/conformance.hpp>

#include <cstdlib>
#include <memory>
#include <string>

/// A server takes a second to be made, so one serves the whole suite, in one process; each test has tables of its own:
/// INTERLOCK_POSTGRES=tcp conformance_tests --gtest_filter='*/postgres_tcp'
namespace interlock {
namespace {

using namespace test_support;

class postgres_harness final : public testing::harness {
 public:
  postgres_harness(postgres_server& server, std::string way) : server_(server), way_(std::move(way)) {
    static int tests = 0;
    schema_ = "Test \"" + std::to_string(++tests) + "\"";
    for (const char c : schema_) quoted_ += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  ~postgres_harness() override {
    server_.command("set client_min_messages = warning; drop schema if exists \"" + quoted_ + "\" cascade");
  }

  std::string url() const override {
    std::string named = "schema=";
    for (const char c : schema_) named += c == ' ' ? "%20" : c == '"' ? "%22" : std::string(1, c);
    if (way_ == "poll") named += "&listen=no";
    return way_ == "unix" ? server_.unix_url(named) : server_.url(named);
  }
  std::optional<bool> peek(std::string_view name) override {
    if (server_.value("select to_regclass('\"" + quoted_ + "\".il_claim') is null") == "t") return false;
    return server_.value("select count(*) > 0 from " + holders(name)) == "t";
  }
  bool steal(std::string_view name) override {
    server_.command("delete from " + holders(name));
    return true;
  }

 private:
  std::string holders(std::string_view name) const {
    std::string hex;
    for (const char c : name) {
      constexpr auto digits = "0123456789abcdef";
      hex += digits[static_cast<unsigned char>(c) >> 4];
      hex += digits[static_cast<unsigned char>(c) & 15];
    }
    return "\"" + quoted_ + "\".il_claim where name = '\\x" + hex + "' and state = 'h' and ends >= clock_timestamp()";
  }

  postgres_server& server_;
  std::string way_, schema_, quoted_;
};

/// Advisory locks: there is nothing to make or to drop.
class postgres_session_harness final : public testing::harness {
 public:
  explicit postgres_session_harness(postgres_server& server) : server_(server) {}
  std::string url() const override { return server_.url("mode=session"); }
  std::optional<bool> peek(std::string_view name) override {
    return server_.value("select count(*) > 0 from " + locks(name)) == "t";
  }
  bool steal(std::string_view name) override {
    server_.command("select pg_terminate_backend(pid, 5000) from " + locks(name));
    return true;
  }

 private:
  static std::string locks(std::string_view name) {
    const auto key = postgres_store::advisory_key_of(name, postgres_store::key_rule::sha256)->value;
    return "pg_locks where locktype = 'advisory' and granted and objsubid = 1 and (classid::bigint << 32 | "
           "objid::bigint) = " +
           std::to_string(key);
  }
  postgres_server& server_;
};

[[maybe_unused]] const bool postgres_asked_for = [] {
  const char* const wanted = std::getenv("INTERLOCK_POSTGRES");
  if (wanted == nullptr || *wanted == '\0') return false;
  return testing::register_conformance("postgres_" + std::string(wanted), [way = std::string(wanted)] {
    static postgres_server server;
    if (way == "session") return std::unique_ptr<testing::harness>(std::make_unique<postgres_session_harness>(server));
    return std::unique_ptr<testing::harness>(std::make_unique<postgres_harness>(server, way));
  });
}();

}  // namespace
}  // namespace interlock

#endif
