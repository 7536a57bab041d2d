// SPDX-License-Identifier: MIT
#include "core/claim_book.hpp"
#include "support/numbered_secret.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

namespace interlock {
namespace {

using namespace std::chrono_literals;
using kind = standing::kind;
using test_support::numbered_secret;

/// The same rules said in another way: a list in order of arrival, looked through from the start each time.
struct model {
  struct one {
    std::uint32_t id, weight;
    bool held;
    milliseconds ends;
  };
  std::uint32_t capacity = 0;
  milliseconds now{0};
  std::vector<one> line;
  std::map<std::uint32_t, milliseconds> tombs;

  void tidy() {
    std::erase_if(line, [&](const one& c) { return c.ends < now; });
    std::erase_if(tombs, [&](const auto& t) { return t.second < now; });
    std::uint64_t used = 0;
    for (const auto& c : line) used += c.held ? c.weight : 0;
    for (auto& c : line) {
      if (c.held) continue;
      if (used + c.weight > capacity) break;
      c.held = true;
      used += c.weight;
    }
  }
  one* find(std::uint32_t id) {
    const auto at = std::find_if(line.begin(), line.end(), [&](const one& c) { return c.id == id; });
    return at == line.end() ? nullptr : &*at;
  }
  kind enter(std::uint32_t id, std::uint32_t weight, bool queue, milliseconds lease, milliseconds wait_lease) {
    tidy();
    if (tombs.contains(id)) return kind::gone;
    if (!find(id)) {
      line.push_back({id, weight, false, now + wait_lease});
      tidy();
      if (!find(id)->held && !queue) {
        line.pop_back();
        return kind::busy;
      }
    }
    return extend(id, lease, wait_lease);
  }
  kind extend(std::uint32_t id, milliseconds lease, milliseconds wait_lease) {
    tidy();
    auto* c = find(id);
    if (c == nullptr) return kind::gone;
    c->ends = std::max(c->ends, now + (c->held ? lease : wait_lease));
    return c->held ? kind::held : kind::waiting;
  }
  departure leave(std::uint32_t id, bool final, milliseconds lease) {
    tidy();
    auto was = departure::gone;
    if (auto* c = find(id)) {
      was = c->held ? departure::released : departure::left;
      line.erase(line.begin() + (c - line.data()));
    }
    if (final) tombs.emplace(id, now + std::max(lease, core::tomb_time));
    tidy();
    return was;
  }
};

unsigned seed() {
  const char* given = std::getenv("INTERLOCK_SEED");
  return given == nullptr ? 20240607U : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
}

void compare(std::uint32_t capacity, std::mt19937& dice) {
  const auto roll = [&](std::uint32_t below) { return static_cast<std::uint32_t>(dice() % below); };
  core::claim_book book;
  core::claim_book::news news;
  model plain;
  plain.capacity = capacity;
  std::uint64_t last_token = 0;
  const instant start{1h};
  for (int step = 0; step < 4000; ++step) {
    plain.now += milliseconds(roll(5) == 0 ? roll(400) : 0);
    const auto now = start + plain.now;
    const auto id =
        roll(12) + 100 * (static_cast<std::uint32_t>(step) / 200);  // names of the dead are not used for ever
    const bool reads = capacity == lock_capacity && id % 2 == 0;
    const auto weight = capacity == lock_capacity ? (reads ? 1 : capacity) : 1 + id % capacity;
    const claim who{.name = "x",
                    .secret = numbered_secret(id),
                    .mode = reads ? lock_mode::shared : lock_mode::exclusive,
                    .weight = weight,
                    .capacity = capacity,
                    .lease = 500ms,
                    .wait_lease = 200ms};
    SCOPED_TRACE("step " + std::to_string(step) + ", claim " + std::to_string(id));
    switch (roll(4)) {
      case 0: {
        const bool queue = roll(2) == 0;
        const auto got = book.enter(who, queue ? entry::queue : entry::attempt, nullptr, now, news).value();
        ASSERT_EQ(got.is, plain.enter(id, weight, queue, 500ms, 200ms));
        if (got.is == kind::held && !reads) last_token = std::max(last_token, got.token);
        break;
      }
      case 1: ASSERT_EQ(book.look(who, now, news).is, plain.extend(id, 500ms, 200ms)); break;
      case 2: ASSERT_EQ(book.leave(who, finality::answered, now, news), plain.leave(id, false, 500ms)); break;
      default: ASSERT_EQ(book.leave(who, finality::final, now, news), plain.leave(id, true, 500ms)); break;
    }
    for (const auto& one : news)
      if (one.as.mode == lock_mode::exclusive) last_token = std::max(last_token, one.as.token);
    ASSERT_LE(last_token, book.token());
    news.clear();
    std::uint64_t used = 0;
    for (const auto& one : book.claims()) used += one.is == core::book_claim::state::held ? one.weight : 0;
    ASSERT_LE(used, capacity);
  }
}

TEST(claim_book_model, agrees_with_a_plain_model_about_locks_of_both_modes) {
  std::mt19937 dice(seed());
  for (int round = 0; round < 10; ++round) ASSERT_NO_FATAL_FAILURE(compare(lock_capacity, dice)) << "seed " << seed();
}

TEST(claim_book_model, agrees_with_a_plain_model_about_permits) {
  std::mt19937 dice(seed());
  for (int round = 0; round < 10; ++round)
    ASSERT_NO_FATAL_FAILURE(compare(1 + static_cast<std::uint32_t>(dice() % 6), dice)) << "seed " << seed();
}

}  // namespace
}  // namespace interlock
