// SPDX-License-Identifier: MIT
#pragma once

#include "testing/conformance/store_under_test.hpp"

#include <interlock/interlock.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace interlock::inline v1::testing {

using namespace std::chrono_literals;

inline constexpr acquire_options shared_now{.mode = lock_mode::shared, .wait = 0ms};

/// Polls until it is true. The bound says "never", not "too slow": a loaded machine must not fail a test.
bool eventually(const std::function<bool()>& holds, milliseconds within = 10s);

/// Collects what a client's observer is told.
class event_log {
 public:
  /// For client_options::observer.
  std::function<void(const event&)> writer();
  [[nodiscard]] unsigned count(event_kind kind) const;
  [[nodiscard]] loss_reason last_loss() const;

 private:
  struct state;
  std::shared_ptr<state> state_ = make();
  static std::shared_ptr<state> make();
};

/// Waits that are under way, each on a host of its own, in the order they queued.
class queue_of_waiters {
 public:
  explicit queue_of_waiters(store_under_test& store, std::string name) : store_(store), name_(std::move(name)) {}
  /// Returns when the store shows it in the queue.
  pending<guard>& add(const client& locks, acquire_options options = {});
  [[nodiscard]] std::size_t size() const noexcept { return waits_.size(); }
  pending<guard>& operator[](std::size_t i) { return *waits_[i]; }

 private:
  store_under_test& store_;
  std::string name_;
  std::vector<std::unique_ptr<pending<guard>>> waits_;
};

class store_test : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { store = std::make_unique<store_under_test>(make_harness(GetParam())); }
  /// Nothing of this name is held or waited for, soon.
  [[nodiscard]] bool becomes_free(const std::string& name) {
    return eventually([&] {
      const auto now = store->inspect(name);
      return now.holders.empty() && now.waiters.empty();
    });
  }
  /// Some stores know connections, and not whose a lock is among those that share one. Asked of a name that is held.
  [[nodiscard]] bool knows_claims(std::string_view name) {
    const auto seen = store->inspect(name).holders;
    return store->traits().survey || seen.empty() || seen[0].id != claim_id{};
  }
  [[nodiscard]] bool is_held_by(const guard& held) {
    const auto seen = store->inspect(held.name()).holders;
    return seen.size() == 1 && (seen[0].id == held.id() || !knows_claims(held.name()));
  }
  /// Tokens rise; where the store makes none, there is nothing to compare.
  [[nodiscard]] bool newer(const guard& next, const guard& before) const {
    return !store->traits().tokens || next.token() > before.token();
  }

  std::unique_ptr<store_under_test> store;
};

}  // namespace interlock::inline v1::testing

/// Opens the file of one suite: its fixture, run over every registered store. The function keeps the file's tests in
/// programs that link them from a static library; register.cpp calls it.
#define INTERLOCK_SUITE(suite)                                                \
  void keep_##suite() {}                                                      \
  class suite : public store_test {};                                         \
  INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(registered_stores()), \
                           [](const ::testing::TestParamInfo<std::string>& which) { return which.param; })

/// Leaves a test that is about what this store does not promise. The refusal has a test of its own.
#define INTERLOCK_NEEDS(trait) \
  if (!store->traits().trait) GTEST_SKIP() << store->traits().store << " does not promise " #trait
