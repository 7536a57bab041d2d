// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/clocked_mariadb.hpp"
#include "support/two_books.hpp"

/// The rules of a name, as the procedures of the lock tables have them.
namespace interlock {
namespace {

using namespace test_support;

TEST(mariadb_rules, are_those_of_the_claim_book_for_locks_of_both_modes) {
  const mariadb_server server;
  std::mt19937 dice(seed());
  std::map<std::string, int> seen;
  for (int round = 0; round < 2 && !HasFailure(); ++round) {
    two_books<clocked_mariadb> both(server, "lock/" + std::to_string(round), lock_capacity);
    walk(both, lock_capacity, dice);
    for (const auto& [what, times] : both.seen) seen[what] += times;
  }
  if (std::getenv("INTERLOCK_SEED") != nullptr) return;
  for (const char* what : {"held", "waiting", "busy", "gone", "deadlock", "invalid_argument"})
    EXPECT_GT(seen[what], 0) << what << " never came about: the walk shows nothing of it";
}

TEST(mariadb_rules, are_those_of_the_claim_book_for_permits) {
  const mariadb_server server;
  std::mt19937 dice(seed() + 1);
  for (int round = 0; round < 2 && !HasFailure(); ++round) {
    const auto capacity = 1 + static_cast<std::uint32_t>(dice() % 6);
    two_books<clocked_mariadb> both(server, "gate/" + std::to_string(round), capacity);
    walk(both, capacity, dice);
  }
}

}  // namespace
}  // namespace interlock

#endif
