// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_server.hpp"

#include <interlock/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

/// TLS where there is more than one server, or where the server wants to know who we are.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using namespace test_support;
using ::testing::HasSubstr;

std::string with_authority(const certificate& whom) { return "tls_ca=" + whom.authority.string(); }
std::string with_certificate(const certificate& own) {
  return "&tls_cert=" + own.file.string() + "&tls_key=" + own.key.string();
}

failure wrong_with(const std::string& url) {
  const auto made = client::connect(url);
  return made ? failure(errc::internal, "connected") : made.error();
}

TEST(redis_tls_client, shows_its_certificate_where_the_server_wants_one) {
  const auto& all = certificates::get();
  const redis_server server({.config = {"tls-auth-clients yes"}, .tls = all.good});
  const client locks(server.tls_url(with_authority(all.good) + with_certificate(all.good)));
  EXPECT_TRUE(locks.try_acquire("a"));
  EXPECT_EQ(wrong_with(server.tls_url(with_authority(all.good))).kind(), errc::unavailable) << "without one";
  EXPECT_EQ(wrong_with(server.tls_url(with_authority(all.good) + with_certificate(all.stranger))).kind(),
            errc::unavailable)
      << "with one that the server does not trust";
  EXPECT_EQ(wrong_with(server.tls_url(with_authority(all.good) + "&tls_cert=" + all.good.file.string())).kind(),
            errc::invalid_argument)
      << "without its key";
}

const std::vector<std::string> among_themselves{"tls-cluster yes", "tls-replication yes"};

std::string tls_cluster_url(redis_cluster& servers, const std::string& query) {
  return "rediss+cluster://127.0.0.1:" + std::to_string(servers.node(0).tls_port()) + "/?" + query;
}

TEST(redis_tls_cluster, every_node_is_spoken_to_by_tls) {
  const auto& all = certificates::get();
  redis_cluster servers({.config = among_themselves, .tls = all.good});
  const client locks(tls_cluster_url(servers, with_authority(all.good)));
  std::vector<guard> held;
  std::set<int> masters;
  for (int i = 0; i < 12; ++i) {
    held.push_back(locks.acquire("name-" + std::to_string(i), lease_of(20s)));
    masters.insert(servers.master_of(held.back().name()).port());
  }
  EXPECT_EQ(masters.size(), 3U) << "the names should be everywhere";
  for (auto& one : held) EXPECT_TRUE(one.release());
  EXPECT_THAT(wrong_with(tls_cluster_url(servers, with_authority(all.stranger))).message(), HasSubstr("certificate"));
}

TEST(redis_tls_cluster, a_node_with_another_hosts_certificate_is_refused) {
  const auto& all = certificates::get();
  redis_cluster servers({.config = among_themselves, .tls = all.wrong_host});
  EXPECT_THAT(wrong_with(tls_cluster_url(servers, with_authority(all.wrong_host))).message(), HasSubstr("certificate"));
}

/// A master and a sentinel, both with TLS.
struct watched_master {
  watched_master(const certificate& of_the_master, const certificate& of_the_sentinel)
      : master({.config = {"tls-replication yes"}, .tls = of_the_master}),
        sentinel({.config = {"tls-replication yes",
                             "sentinel monitor m1 127.0.0.1 " + std::to_string(master.tls_port()) + " 1"},
                  .program = "redis-sentinel",
                  .tls = of_the_sentinel}) {}
  [[nodiscard]] std::string url() const {
    return "rediss+sentinel://127.0.0.1:" + std::to_string(sentinel.tls_port()) + "/m1?" +
           with_authority(certificates::get().good);
  }
  redis_server master, sentinel;
};

TEST(redis_tls_sentinel, sentinel_and_master_are_spoken_to_by_tls) {
  const auto& all = certificates::get();
  const watched_master servers(all.good, all.good);
  const client locks(servers.url());
  EXPECT_TRUE(locks.try_acquire("a"));
}

TEST(redis_tls_sentinel, neither_may_be_another_host) {
  const auto& all = certificates::get();
  const watched_master strange_sentinel(all.good, all.wrong_host);
  EXPECT_THAT(wrong_with(strange_sentinel.url()).message(), HasSubstr("certificate"));
  const watched_master strange_master(all.wrong_host, all.good);
  EXPECT_THAT(wrong_with(strange_master.url()).message(), HasSubstr("certificate"));
}

}  // namespace
}  // namespace interlock

#endif
