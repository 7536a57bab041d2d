// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "support/certificates.hpp"
#include "support/tcp_proxy.hpp"
#include "support/zookeeper_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

/// ZooKeeper's own TLS port, and what its certificate must say.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;

std::string locks_trusting(const certificate& whom) {
  return "/locks?connect_timeout=20s&tls_ca=" + whom.authority.string();
}

TEST(zookeeper_tls, locks_over_tls_exclude_those_in_the_clear) {
  const auto& all = certificates::get();
  const zookeeper_server server({.tls = all.good});
  const client secured(server.tls_url(locks_trusting(all.good))), other(server.url("/locks"));
  auto held = secured.acquire("a");
  EXPECT_FALSE(other.try_acquire("a"));
  auto next = other.async_acquire("a");
  EXPECT_TRUE(held.release());
  auto theirs = next.get();
  auto back = secured.async_acquire("a");
  EXPECT_TRUE(theirs.release());
  EXPECT_GT(back.get().token(), theirs.token());
  for (int i = 0; i < 50; ++i) {  // a lone caller that reads for itself, and many at once
    EXPECT_TRUE(secured.acquire("b").release());
    std::vector<pending<guard>> many;
    for (int k = 0; k < 16; ++k) many.push_back(secured.async_acquire("c" + std::to_string(k)));
    for (auto& one : many) EXPECT_TRUE(one.get().valid());
  }
}

TEST(zookeeper_tls, a_server_that_is_not_whom_we_trust_is_refused_and_told_apart) {
  const auto& all = certificates::get();
  const auto refusal = [&](const certificate& shown) {
    const zookeeper_server server({.tls = shown});
    const auto got = client::connect(server.tls_url(locks_trusting(all.good)));
    return got ? std::string() : got.error().message();
  };
  EXPECT_NE(refusal(all.wrong_host).find("ostname mismatch"), std::string::npos);
  EXPECT_NE(refusal(all.stranger).find("certificate"), std::string::npos);
}

TEST(zookeeper_tls, a_client_shows_its_own_certificate_to_a_server_that_asks) {
  const auto& all = certificates::get();
  const zookeeper_server server({.tls = all.good, .mutual = true});
  EXPECT_FALSE(client::connect(server.tls_url(locks_trusting(all.good))));
  const client locks(server.tls_url(locks_trusting(all.good) + "&tls_cert=" + all.good.file.string() +
                                    "&tls_key=" + all.good.key.string()));
  EXPECT_TRUE(locks.acquire("a").release());
}

TEST(zookeeper_tls, what_makes_no_sense_is_refused_before_anything_is_sent) {
  EXPECT_EQ(client::connect("zk://127.0.0.1:1/locks?tls_ca=/nowhere").error(), errc::invalid_argument);
  EXPECT_EQ(client::connect("zks://127.0.0.1:1/locks?tls_ca=/nowhere").error(), errc::invalid_argument);
}

}  // namespace
}  // namespace interlock

#endif
