// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/clocked_courier.hpp"
#include "support/redis_native_book.hpp"
#include "support/two_books.hpp"

#include "backends/redis/layout.hpp"

#include <memory>
#include <span>
#include <string_view>

/// The rules of a name, as the scripts of the native Redis layout have them.
namespace interlock {
namespace {

using namespace test_support;

class clocked_redis {
 public:
  using server = redis_server;

  clocked_redis(const redis_server& on, backend_events& events) : way_(on) {
    layout_ = redis_store::make_native_layout({way_, events, url_, real_time()}).value();
    way_.deliver_to(*layout_);
    layout_->begin();
  }
  void set_clock(std::chrono::microseconds since_1970) { way_.set_clock(since_1970); }
  void deliver_news() { way_.deliver_news(); }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) {
    layout_->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) {
    layout_->look(whom, here, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) {
    layout_->leave(who, how, here, std::move(done));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) {
    layout_->convert(who, mode, weight, how, std::move(done));
  }
  void survey(survey_query what, completion<survey_page> done) { layout_->survey(std::move(what), std::move(done)); }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) {
    layout_->evict(name, who, force, std::move(done));
  }

 private:
  store_url url_{};
  clocked_courier way_;
  std::unique_ptr<redis_store::layout> layout_;
};

TEST(redis_native_rules, are_those_of_the_claim_book_for_locks_of_both_modes) {
  const redis_server server;
  std::mt19937 dice(seed());
  std::map<std::string, int> seen;
  for (int round = 0; round < 8 && !HasFailure(); ++round) {
    two_books<clocked_redis> both(server, "lock/" + std::to_string(round), lock_capacity);
    walk(both, lock_capacity, dice);
    for (const auto& [what, times] : both.seen) seen[what] += times;
  }
  if (std::getenv("INTERLOCK_SEED") != nullptr) return;
  for (const char* what : {"held", "waiting", "busy", "gone", "deadlock", "invalid_argument", "pushed"})
    EXPECT_GT(seen[what], 0) << what << " never came about: the walk shows nothing of it";
}

TEST(redis_native_rules, are_those_of_the_claim_book_for_permits) {
  const redis_server server;
  std::mt19937 dice(seed() + 1);
  for (int round = 0; round < 8 && !HasFailure(); ++round) {
    const auto capacity = 1 + static_cast<std::uint32_t>(dice() % 6);
    two_books<clocked_redis> both(server, "gate/" + std::to_string(round), capacity);
    walk(both, capacity, dice);
  }
}

}  // namespace
}  // namespace interlock

#endif
