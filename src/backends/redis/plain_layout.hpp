// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/layout.hpp"
#include "backends/redis/plain_keys.hpp"
#include "backends/redis/plain_notes.hpp"
#include "backends/redis/plain_scripts.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace interlock::inline v1::redis_store {

/// One string key for each lock: `SET key value NX PX lease`, deleted only if it still has this value. That is what
/// redis-py, redsync, node-redlock, redislock, redis-plus-plus, Spring and many others do, so they and we exclude each
/// other on the same key.
///
/// What they know nothing of is in a companion key of our own: the token, who holds it, and our own waiters, so that
/// they can be listed, evicted and woken. Nothing in it decides who has the lock: that is the string key alone.
class plain_layout final : public layout {
 public:
  struct options {
    key_template key;
    std::optional<key_template> signal{};  ///< python-redis-lock's list
    bool tokens = true;
  };
  static result<options> read_options(const store_url& url);

  plain_layout(const layout_environment& from, options wish);

  void begin() override;
  void describe(store_traits& traits) const override;
  void enter(const claim& who, entry how, inline_work here, completion<standing>&& done) override;
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    look_by(way_, whom, here, std::move(done));
  }
  void look_by(courier& way, std::span<const claim> whom, inline_work here, completion<standings> done) override;
  void leave(const claim& who, finality how, inline_work here, completion<departure>&& done) override;
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override;
  void survey(survey_query what, completion<survey_page> done) override;
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override;
  [[nodiscard]] std::string route(std::string_view name) const override { return wish_.key.key(name); }
  void message(std::string_view channel, std::string_view payload) noexcept override;

 private:
  struct listing;
  struct look_round;

  [[nodiscard]] std::optional<failure> refusal(const claim& who, std::string_view key) const;
  void enter_bare(const claim& who, std::string_view key, entry how, inline_work here, completion<standing>&& done);
  void enter_by_script(const claim& who, std::string_view key, entry how, inline_work here,
                       completion<standing>&& done);
  result<standing> standing_in(const reply& said, std::string_view name, const claim_secret& secret);
  void release(const claim& who, std::string_view key, inline_work here, completion<departure>&& done);
  void look_at(courier& way, std::shared_ptr<look_round> round, std::span<const std::size_t> which, inline_work here);

  // Our own waiters, to be told when a lock becomes free.
  void waits(std::string_view name, const claim_secret& secret);
  void waits_no_more(std::string_view name, const claim_secret& secret) noexcept;

  // Claims that must never come to be although their SET asks nobody.
  void bury(const claim& who);
  [[nodiscard]] bool buried(const claim_secret& secret);

  void sweep_now_and_then(const claim_secret& secret, std::string_view companion);

  // plain_survey.cpp
  void show(std::string_view name, unique_function<void(result<plain_sight>)> then);
  void scan(std::shared_ptr<listing> job);
  void scanned(const std::shared_ptr<listing>& job);
  void evict_seen(std::string name, const plain_sight& seen, const claim_id& who, bool force, completion<bool> done);

  courier& way_;
  backend_events& events_;
  const time_source& time_;
  const options wish_;
  const plain_scripts& scripts_;
  const bool cluster_;
  const std::string_view publish_;  // PUBLISH, or in a cluster that knows it SPUBLISH

  std::mutex mutex_;
  std::map<std::string, std::vector<claim_secret>, std::less<>> waiting_;  // by channel
  std::atomic<std::size_t> waiting_count_{0};
  std::unordered_map<claim_secret, instant> buried_;  // until when
  std::size_t bury_most_ = 0;                         // when to look for those whose time is over
  std::atomic<bool> any_buried_{false};
};

}  // namespace interlock::inline v1::redis_store
