// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/layout.hpp"
#include "backends/redis/redisson_latches.hpp"
#include "backends/redis/redisson_names.hpp"
#include "backends/redis/redisson_survey.hpp"
#include "backends/redis/redisson_waiters.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace interlock::inline v1::redis_store::redisson {

/// What the URL says about it.
struct settings {
  object locks = object::lock;  ///< what a lock is; a semaphore is always an RPermitExpirableSemaphore
  std::string_view tokens = "counter";
  milliseconds fair_wait{300'000};  ///< Redisson's fairLockWaitTimeout
};

/// Locks and semaphores as Redisson writes them, so that our processes and Java's contend for the very same ones.
class layout final : public redis_store::layout {
 public:
  layout(const layout_environment& from, const settings& how);

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
  cell_store* cells() noexcept override { return &latches_; }
  void message(std::string_view channel, std::string_view payload) noexcept override;

 private:
  struct batch;

  [[nodiscard]] object kind_of(const claim& who) const noexcept;
  void add_settings(packet& to) const;
  void send_looks(courier& way, const std::shared_ptr<batch>& all, std::span<const std::size_t> which,
                  inline_work here);
  /// What an answer means for the waiting claims of this process. Called when it has been passed on.
  void note(object what, std::string_view name, const claim_secret& who, std::uint64_t heard,
            const result<standing>& as);
  void told_of_eviction(std::string_view owner) noexcept;
  void told_of_grant(std::string_view channel, std::string_view payload) noexcept;
  void evict_seen(std::string_view name, const seen_claim& who, bool force, completion<bool> done);

  courier& way_;
  backend_events& events_;
  const settings settings_;
  const std::string client_;   // 32 hexadecimal digits
  const std::string channel_;  // where this client is told of evictions
  bool clustered_ = false;
  bool both_ways_ = false;  // peers may listen on sharded channels or on plain ones
  waiters waiters_;
  latches latches_;
};

}  // namespace interlock::inline v1::redis_store::redisson
