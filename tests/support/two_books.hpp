// SPDX-License-Identifier: MIT
#pragma once

#include "core/claim_book.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// The rules of a name, twice: as core::claim_book has them, and as a store says them in its own language. A Store asks
/// a real server, has the answer before it returns, and moves the server's clock:
///
///     Store(const Store::server&, backend_events&), set_clock(microseconds since 1970), deliver_news(),
///     and enter, look, leave, convert, evict, survey as backend has them.
///
/// One that has no deliver_news() says so by a member `tells_nobody`.
namespace interlock::test_support {

inline claim_secret secret(std::uint32_t n) {
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(n >> (8 * i));
  bytes[15] = std::byte{0xff};
  return claim_secret(bytes);
}

inline unsigned seed() {
  const char* given = std::getenv("INTERLOCK_SEED");
  return given == nullptr ? 20240607U : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
}

struct heard final : backend_events {
  std::vector<std::pair<claim_secret, standing>> grants;
  std::vector<claim_secret> evictions;
  void granted(const claim_secret& who, const standing& as) noexcept override { grants.emplace_back(who, as); }
  void evicted(const claim_secret& who) noexcept override { evictions.push_back(who); }
  void look_again(const claim_secret&) noexcept override {}
  void link(bool) noexcept override {}
  void another_server() noexcept override {}
};

/// The same name in a book and in a store; the tokens of the two may differ, but must be in the same order.
template <class Store>
class two_books {
 public:
  two_books(const typename Store::server& server, std::string name, std::uint32_t capacity)
      : name_(std::move(name)), capacity_(capacity), store_(server, events_) {
    pass(std::chrono::microseconds{0});
  }

  void pass(std::chrono::microseconds time) {
    now_ += time;
    store_.set_clock(now_);
  }

  claim claim_of(std::uint32_t n, milliseconds lease, milliseconds wait_lease) const {
    const bool lock = capacity_ == lock_capacity;
    const bool reads = lock && n % 3 != 0;
    return {.name = name_,
            .secret = secret(n),
            .mode = reads ? lock_mode::shared : lock_mode::exclusive,
            .weight = lock ? (reads ? 1 : capacity_) : 1 + n % capacity_,
            .capacity = capacity_,
            .lease = lease,
            .wait_lease = wait_lease};
  }

  void enter(const claim& who, entry how) {
    const auto expected = book_.enter(who, how, nullptr, instant(), news_);
    store_.enter(who, how, inline_work::never, [&](const result<standing>& got) { compare(expected, got); });
    compare_news(&who.secret);
  }
  void look(const claim& who) {
    const result<standing> expected = book_.look(who, instant(), news_);
    store_.look({&who, 1}, inline_work::never, [&](const result<standings>& got) {
      ASSERT_TRUE(got) << got.error().message();
      ASSERT_EQ(got->size(), 1U);
      compare(expected, got->front());
    });
    compare_news(&who.secret);
  }
  void leave(const claim& who, finality how) {
    const auto expected = book_.leave(who, how, instant(), news_);
    store_.leave(who, how, inline_work::never, [&](const result<departure>& got) {
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(*got, expected);
    });
    compare_news(&who.secret);
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how) {
    const auto expected = book_.convert(who, mode, weight, how, instant(), news_);
    store_.convert(who, mode, weight, how, [&](const result<standing>& got) { compare(expected, got); });
    compare_news(&who.secret);
  }
  void evict(const claim& who, bool force) {
    const bool expected = book_.evict(public_id(who.secret), force, instant(), news_);
    store_.evict(name_, public_id(who.secret), force, [&](const result<bool>& got) {
      ASSERT_TRUE(got) << got.error().message();
      EXPECT_EQ(*got, expected);
    });
    compare_news(nullptr);
  }
  void compare_survey() {
    const auto expected = book_.describe(name_, instant());
    store_.survey({.prefix = name_, .exact = true}, [&](const result<survey_page>& page) {
      ASSERT_TRUE(page) << page.error().message();
      if (expected.holders.empty() && expected.waiters.empty()) {
        EXPECT_TRUE(page->locks.empty());
        return;
      }
      ASSERT_EQ(page->locks.size(), 1U);
      EXPECT_EQ(page->locks[0].limit, expected.limit);
      compare_lists(expected.holders, page->locks[0].holders);
      compare_lists(expected.waiters, page->locks[0].waiters);
    });
  }
  /// One that holds, waits or is remembered; `stranger` if there is none.
  std::uint32_t somebody(std::uint32_t dice, std::uint32_t stranger) {
    const auto& all = book_.claims();
    if (all.empty()) return stranger;
    const auto& bytes = all[dice % all.size()].secret.bytes();
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < 4; ++i) n |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
    return n;
  }
  std::map<std::string, int> seen;

 private:
  interlock::instant instant() const { return interlock::instant(now_); }

  void compare(const result<standing>& expected, const result<standing>& got) {
    ASSERT_EQ(expected.has_value(), got.has_value()) << (got ? expected.error() : got.error()).message();
    if (!got) {
      EXPECT_EQ(got.error().kind(), expected.error().kind());
      ++seen[std::string(to_string(got.error().kind()))];
      return;
    }
    ASSERT_EQ(got->is, expected->is);
    ++seen[got->is == standing::kind::held      ? "held"
           : got->is == standing::kind::waiting ? "waiting"
           : got->is == standing::kind::busy    ? "busy"
                                                : "gone"];
    EXPECT_EQ(got->reason, expected->reason);
    if (got->is == standing::kind::gone) return;
    EXPECT_EQ(got->tokens, expected->tokens);
    EXPECT_EQ(got->ahead, expected->ahead);
    EXPECT_EQ(got->behind, expected->behind);
    if (got->is == standing::kind::held || got->is == standing::kind::waiting) {
      EXPECT_EQ(got->mode, expected->mode);
    }
    compare_tokens(expected->token, got->token);
    EXPECT_LE(got->look_again_in, expected->look_again_in);
    EXPECT_EQ(got->look_again_in > milliseconds{0}, expected->look_again_in > milliseconds{0});
  }
  void compare_tokens(std::uint64_t expected, std::uint64_t got) {
    ASSERT_EQ(expected == 0, got == 0);
    if (expected == 0) return;
    const auto [at, fresh] = tokens_.emplace(expected, got);
    EXPECT_EQ(at->second, got);
    if (at != tokens_.begin()) {
      EXPECT_LT(std::prev(at)->second, got);
    }
    if (std::next(at) != tokens_.end()) {
      EXPECT_GT(std::next(at)->second, got);
    }
  }
  // The asker's own news is in its answer.
  void compare_news(const claim_secret* asker) {
    if constexpr (requires { Store::tells_nobody; }) {
      news_.clear();  // what came of it is seen in the survey
      return;
    } else {
      compare_told(asker);
    }
  }
  void compare_told(const claim_secret* asker) {
    store_.deliver_news();
    std::size_t grants = 0, evictions = 0;
    for (const auto& one : news_) {
      if (one.is == core::book_news::kind::evicted) {
        ASSERT_LT(evictions, events_.evictions.size());
        EXPECT_EQ(events_.evictions[evictions++], one.whom);
        continue;
      }
      if (asker != nullptr && one.whom == *asker) continue;
      ASSERT_LT(grants, events_.grants.size());
      const auto& [whom, as] = events_.grants[grants++];
      EXPECT_EQ(whom, one.whom);
      EXPECT_EQ(as.is, standing::kind::held);
      EXPECT_EQ(as.mode, one.as.mode);
      EXPECT_EQ(as.tokens, one.as.tokens);
      EXPECT_EQ(as.behind, one.as.behind);
      compare_tokens(one.as.token, as.token);
    }
    EXPECT_EQ(events_.grants.size(), grants);
    EXPECT_EQ(events_.evictions.size(), evictions);
    seen["pushed"] += static_cast<int>(grants);
    events_.grants.clear();
    events_.evictions.clear();
    news_.clear();
  }
  void compare_lists(const std::vector<claim_info>& expected, const std::vector<claim_info>& got) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].id, expected[i].id);
      EXPECT_EQ(got[i].mode, expected[i].mode);
      EXPECT_EQ(got[i].permits, expected[i].permits);
      EXPECT_EQ(got[i].tokens, expected[i].tokens);
      EXPECT_EQ(got[i].age, expected[i].age);
      EXPECT_EQ(got[i].lease_left, expected[i].lease_left);
      ASSERT_EQ(got[i].token.has_value(), expected[i].token.has_value());
      if (got[i].token) compare_tokens(expected[i].token->value(), got[i].token->value());
    }
  }

  const std::string name_;
  const std::uint32_t capacity_;
  std::chrono::microseconds now_{1'790'000'000'000'000};
  heard events_;
  Store store_;
  core::claim_book book_;
  core::claim_book::news news_;
  std::map<std::uint64_t, std::uint64_t> tokens_;  // of the book, and of the store
};

template <class Store>
void walk(two_books<Store>& both, std::uint32_t capacity, std::mt19937& dice) {
  using namespace std::chrono_literals;
  const auto roll = [&](std::uint32_t below) { return static_cast<std::uint32_t>(dice() % below); };
  const auto crowd = std::array{2U, 4U, 12U}[roll(3)];
  for (std::uint32_t step = 0; step < 900; ++step) {
    if (roll(6) == 0)
      both.pass(std::chrono::microseconds(
          std::array{1U, 999U, roll(400'000), roll(4) == 0 ? roll(60'000'000) : 0U}[roll(4)]));
    const bool long_lease = roll(2) == 0;
    const auto stranger = roll(crowd) + 20 * (step / 60);  // ids of the dead are not used for ever
    const auto n = roll(2) == 0 ? stranger : both.somebody(roll(1000), stranger);
    auto who = both.claim_of(n, long_lease ? 30s : 500ms, long_lease ? 10s : 200ms);
    if (roll(4) == 0) who.tokens = 16;
    const auto how = roll(2) == 0 ? entry::queue : entry::attempt;
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", step " + std::to_string(step) + ", claim " + std::to_string(n));
    switch (roll(12)) {
      case 0:
      case 1:
      case 2:
      case 3: both.enter(who, how); break;
      case 4:
      case 5:
      case 6: both.look(who); break;
      case 7:
      case 8: both.leave(who, roll(12) == 0 ? finality::final : finality::answered); break;
      case 9:
        if (roll(3) == 0) {
          both.evict(who, roll(2) == 0);
          break;
        }
        if (roll(20) == 0) {  // somebody takes the name for something else
          who.capacity = 7;
          who.weight = 1;
          who.mode = lock_mode::exclusive;
          both.enter(who, entry::attempt);
          both.leave(who, finality::answered);
          break;
        }
        [[fallthrough]];
      default: {
        const bool reads = capacity == lock_capacity && roll(2) == 0;
        const auto weight = capacity != lock_capacity ? 1 + roll(capacity) : reads ? 1 : capacity;
        both.convert(who, reads ? lock_mode::shared : lock_mode::exclusive, weight, how);
      }
    }
    both.compare_survey();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace interlock::test_support
