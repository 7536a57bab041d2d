// SPDX-License-Identifier: MIT
#if defined(INTERLOCK_WITH_POSTGRES) || defined(INTERLOCK_WITH_MYSQL)

#include "support/database_under_test.hpp"
#include "support/doctor.hpp"

#include <interlock/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

/// TLS to databases, and what their certificates must say.
namespace interlock {
namespace {

using namespace test_support;
using ::testing::HasSubstr;

std::string verifying(const certificate& whom) { return "sslmode=verify-full&sslrootcert=" + whom.authority.string(); }

template <class Database>
struct database_tls : ::testing::Test {};
TYPED_TEST_SUITE(database_tls, databases_under_test, named_after_database);

TYPED_TEST(database_tls, locks_over_tls_exclude_those_in_the_clear) {
  const auto& all = certificates::get();
  const auto server = TypeParam::with_tls(all.good);
  const client clear(server.url("sslmode=disable"));
  EXPECT_EQ(diagnosis(clear, "encryption").substr(0, 5), "warn:");
  for (const std::string mode : {"", "&mode=session"}) {
    const client locks(server.url(verifying(all.good) + mode));
    EXPECT_EQ(diagnosis(locks, "encryption"), "ok: TLS");
    auto held = locks.acquire("a");
    EXPECT_FALSE(client(server.url("sslmode=disable" + mode)).try_acquire("a"));
    EXPECT_TRUE(held.release());
    for (int i = 0; i < 20; ++i) {  // a lone caller that reads for itself, and many at once
      EXPECT_TRUE(locks.acquire("b").release());
      std::vector<pending<guard>> many;
      for (int k = 0; k < 16; ++k) many.push_back(locks.async_acquire("c" + std::to_string(k)));
      for (auto& one : many) EXPECT_TRUE(one.get().valid());
    }
  }
}

TYPED_TEST(database_tls, a_server_that_is_not_whom_we_trust_is_refused_and_so_is_one_without_tls) {
  const auto& all = certificates::get();
  const auto server = TypeParam::with_tls(all.good);
  for (const auto* bad : {&all.expired, &all.wrong_host, &all.stranger}) {
    server.show(*bad);
    const auto refused = client::connect(server.url(verifying(all.good)));
    EXPECT_FALSE(refused) << bad->file;
    if (!refused) {
      EXPECT_THAT(refused.error().message(), HasSubstr("ertificate"));
    }
    EXPECT_TRUE(client::connect(server.url("sslmode=require"))) << "encrypted, and not by whom was not asked";
  }
  server.show(all.good);
  EXPECT_TRUE(client::connect(server.url(verifying(all.good))));
  const typename TypeParam::server open;
  for (const auto& mode : {verifying(all.good), std::string("sslmode=require")})
    EXPECT_FALSE(client::connect(open.url(mode))) << mode << ": nothing is said in the clear in its place";
}

#ifdef INTERLOCK_WITH_MYSQL
// It would be sent to nobody, and all else in the clear.
TEST(mariadb_tls, a_certificate_of_our_own_needs_a_mode) {
  for (const auto* url : {"mysql://localhost/a?sslcert=x", "mysql://localhost/a?sslkey=x&sslmode=disable"})
    EXPECT_EQ(client::connect(url).error().kind(), errc::invalid_argument) << url;
}
#endif

}  // namespace
}  // namespace interlock

#endif
