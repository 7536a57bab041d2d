// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "backends/etcd/bundler.hpp"
#include "engine/loop.hpp"
#include "support/etcd_server.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

/// What is asked for at once reaches etcd as few transactions, and each does what it would have done alone.
namespace interlock::etcd_store {
namespace {

using test_support::etcd_server;

// One server for all: each test uses names of its own.
etcd_server& server() {
  static etcd_server one;
  return one;
}

class etcd_bundles : public ::testing::Test {
 protected:
  etcd_bundles() {
    loop->start([] {}, [] {});
    etcd_settings settings;
    settings.endpoints = {{"127.0.0.1", static_cast<std::uint16_t>(server().port())}};
    way = link::make(settings, *loop, real_time());
    together = std::make_shared<bundler>(way, *loop, real_time());
  }
  ~etcd_bundles() override {
    way->close();
    loop->stop();
  }
  std::future<result<outcome>> ask(const std::string& name, transaction what) {
    auto answer = std::make_shared<std::promise<result<outcome>>>();
    together->commit(name, std::move(what), inline_work::together,
                     [answer](result<outcome> got) { answer->set_value(std::move(got)); });
    return answer->get_future();
  }

  std::unique_ptr<runtime::loop> loop = runtime::make_asio_loop();
  std::shared_ptr<link> way;
  std::shared_ptr<bundler> together;
};

transaction make(const std::string& key, lease_id lease = 0) {
  return {{absent({key, {}})}, {put(key, "x", lease)}, {get(key)}};
}

TEST_F(etcd_bundles, what_is_asked_together_is_one_transaction_and_each_has_its_own_outcome) {
  server().control({"put", "own/taken", "before"});
  const auto before = server().requests("Txn");
  std::vector<std::future<result<outcome>>> all;
  for (const std::string name : {"free", "taken", "other"}) all.push_back(ask(name, make("own/" + name)));
  together->flush();
  std::vector<result<outcome>> got;
  for (auto& one : all) got.push_back(one.get());
  EXPECT_EQ(server().requests("Txn") - before, 1);
  EXPECT_TRUE(got[0]->met);
  ASSERT_FALSE(got[1]->met);
  EXPECT_EQ(got[1]->answers.at(0).found.at(0).value, "before");
  EXPECT_TRUE(got[2]->met);
}

TEST_F(etcd_bundles, one_that_etcd_refuses_does_not_fail_the_rest) {
  std::vector<std::future<result<outcome>>> all;
  for (const std::string name : {"a", "b", "c"}) all.push_back(ask(name, make("rest/" + name, name == "b" ? 4711 : 0)));
  together->flush();
  const auto first = all[0].get(), refused = all[1].get(), last = all[2].get();
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_TRUE(first->met);
  ASSERT_FALSE(refused) << "there is no such lease";
  EXPECT_EQ(refused.error(), errc::lost) << refused.error().message();
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_TRUE(last->met);
}

TEST_F(etcd_bundles, two_of_one_name_take_effect_in_order) {
  auto first = ask("same", make("order/same"));
  auto second = ask("same", {{}, {remove("order/same")}, {}});
  auto third = ask("same", make("order/same"));
  together->flush();
  EXPECT_TRUE(first.get()->met);
  EXPECT_EQ(second.get()->answers.at(0).count, 1);
  EXPECT_TRUE(third.get()->met);
}

TEST_F(etcd_bundles, more_than_etcd_takes_at_once_and_longer_ones_are_split) {
  constexpr int many = 300;
  const std::string padding(4'000, 'x');
  std::vector<std::future<result<outcome>>> all;
  const auto before = server().requests("Txn");
  for (int i = 0; i < many; ++i) all.push_back(ask(std::to_string(i), make("many/" + std::to_string(i) + padding)));
  together->flush();
  for (auto& one : all) {
    const auto got = one.get();
    ASSERT_TRUE(got) << got.error().message();
    EXPECT_TRUE(got->met);
  }
  const auto sent = server().requests("Txn") - before;
  EXPECT_GE(sent, 3);
  EXPECT_LE(sent, 30);
}

TEST(etcd_bundles_of_clients, hundreds_of_locks_at_once_are_a_few_transactions_each_way) {
  const client locks(server().url("/clients"));
  locks.acquire("first").release().value();  // leases are made
  constexpr int many = 300;
  const auto before = server().requests("Txn");
  std::vector<pending<guard>> asked;
  for (int i = 0; i < many; ++i) asked.push_back(locks.async_acquire("n" + std::to_string(i)));
  std::vector<guard> held;
  for (auto& one : asked) held.push_back(one.get());
  std::vector<pending<void>> leaving;
  for (auto& one : held) leaving.push_back(one.async_release());
  for (auto& one : leaving) one.get();
  EXPECT_LT(server().requests("Txn") - before, 2 * many / 4);
}

}  // namespace
}  // namespace interlock::etcd_store

#endif
