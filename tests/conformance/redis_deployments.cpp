// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/redis_cluster.hpp"
#include "support/redis_replicas.hpp"
#include "support/redis_sentinels.hpp"

#include <interlock/testing/conformance.hpp>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// The native layout wherever Redis runs. Such servers take seconds to start, so one set of them serves the whole
/// suite, in one process: INTERLOCK_REDIS_DEPLOYMENT=cluster conformance_tests --gtest_filter='*/redis_cluster'
namespace interlock {
namespace {

using namespace test_support;

/// Servers for all tests of this process, emptied before each.
struct deployment {
  virtual ~deployment() = default;
  [[nodiscard]] virtual std::string url() const = 0;
  virtual void empty() = 0;
};

struct one_server : deployment {
  explicit one_server(redis_options options = {}) : server(std::move(options)) {}
  void empty() override { server.command({"FLUSHALL"}); }
  redis_server server;
};

struct over_tls final : one_server {
  over_tls() : one_server({.tls = certificates::get().good}) {}
  std::string url() const override { return server.tls_url("tls_ca=" + certificates::get().good.authority.string()); }
};

struct over_socket final : one_server {
  std::string url() const override { return server.unix_url(); }
};

struct over_resp2 final : one_server {
  std::string url() const override { return server.url("protocol=2"); }
};

// Exactly the rights that docs/backends/redis.md names.
struct with_few_rights final : one_server {
  with_few_rights()
      : one_server({.users = {"locker on >secret ~ilk1:* &ilk1:* +hello +info +eval +evalsha +subscribe +unsubscribe "
                              "+publish +time +get +set +setrange +del +pexpire +lpop +lpush +rpush +lindex +lrange "
                              "+lrem +hget +hset +hsetnx +hdel +hlen +hvals +hgetall +scan"}}) {}
  std::string url() const override { return "redis://locker:secret@127.0.0.1:" + std::to_string(server.port()); }
};

struct with_sentinels final : deployment {
  std::string url() const override { return servers.url(); }
  void empty() override { servers.master().command({"FLUSHALL"}); }
  redis_sentinels servers;
};

struct with_replicas final : deployment {
  std::string url() const override { return master->url("replicas=1"); }
  void empty() override { master->command({"FLUSHALL"}); }
  redis_replicas servers{1};
  redis_server* master = &servers.master();
};

struct in_a_cluster : deployment {
  std::string url() const override { return servers.url(); }
  void empty() override {
    for (auto* one : servers.masters()) one->command({"FLUSHALL"});
  }
  redis_cluster servers;
};

// Messages come on connections of their own there.
struct in_a_cluster_with_resp2 final : in_a_cluster {
  std::string url() const override { return servers.url("protocol=2"); }
};

// Independent masters, so many of which must agree.
struct independent : deployment {
  explicit independent(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) servers.push_back(std::make_unique<redis_server>());
  }
  void empty() override {
    for (const auto& one : servers) one->command({"FLUSHALL"});
  }
  [[nodiscard]] std::string named(const std::string& scheme) const {
    std::string out = scheme + "://";
    for (const auto& one : servers)
      out += (one == servers.front() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(one->port());
    return out;
  }
  std::vector<std::unique_ptr<redis_server>> servers;
};

struct by_majority final : independent {
  by_majority() : independent(5) {}
  std::string url() const override { return named("redlock"); }
};

struct by_majority_without_tokens final : independent {
  by_majority_without_tokens() : independent(5) {}
  std::string url() const override { return named("redlock") + "?token=none"; }
};

struct by_majority_in_native_layout final : independent {
  by_majority_in_native_layout() : independent(5) {}
  std::string url() const override { return named("redlock") + "?layout=native"; }
};

struct by_both_of_two final : independent {
  by_both_of_two() : independent(2) {}
  std::string url() const override { return named("redis+dual"); }
};

template <class Deployment>
std::unique_ptr<deployment> start() {
  return std::make_unique<Deployment>();
}

const std::map<std::string, std::unique_ptr<deployment> (*)()>& kinds() {
  static const std::map<std::string, std::unique_ptr<deployment> (*)()> all{
      {"acl", start<with_few_rights>},
      {"cluster", start<in_a_cluster>},
      {"cluster_resp2", start<in_a_cluster_with_resp2>},
      {"replicas", start<with_replicas>},
      {"resp2", start<over_resp2>},
      {"sentinel", start<with_sentinels>},
      {"tls", start<over_tls>},
      {"unix", start<over_socket>},
      {"redlock", start<by_majority>},
      {"redlock_bare", start<by_majority_without_tokens>},
      {"redlock_native", start<by_majority_in_native_layout>},
      {"dual", start<by_both_of_two>},
  };
  return all;
}

class shared_harness final : public testing::harness {
 public:
  explicit shared_harness(deployment& on) : on_(on) { on_.empty(); }
  std::string url() const override { return on_.url(); }

 private:
  deployment& on_;
};

[[maybe_unused]] const bool redis_asked_for = [] {
  const char* wanted = std::getenv("INTERLOCK_REDIS_DEPLOYMENT");
  if (wanted == nullptr || *wanted == '\0') return false;
  const auto make = kinds().at(wanted);
  return testing::register_conformance("redis_" + std::string(wanted), [make] {
    static const auto servers = make();
    return std::make_unique<shared_harness>(*servers);
  });
}();

}  // namespace
}  // namespace interlock

#endif
