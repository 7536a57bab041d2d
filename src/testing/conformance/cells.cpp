// SPDX-License-Identifier: MIT
#include "testing/conformance/asking.hpp"
#include "testing/conformance/suite.hpp"

#include <atomic>
#include <set>

/// The cell interface itself, with no client and no engine in between.
namespace interlock::inline v1::testing {

INTERLOCK_SUITE(cells);

namespace {
cell_store& of(const std::unique_ptr<store_under_test>& store) { return *store->waist().cells(); }
}  // namespace

TEST_P(cells, a_store_says_whether_it_has_any) {
  EXPECT_EQ(store->waist().cells() != nullptr, store->traits().latches);
  EXPECT_TRUE(store->traits().latches || !store->traits().cells);
}

TEST_P(cells, what_was_written_is_read_and_what_was_not_has_no_version) {
  INTERLOCK_NEEDS(cells);
  EXPECT_EQ(read(of(store), "x").value().version.number, 0U);
  const auto made = write_if(of(store), fresh_write("x", {}, "one")).value();
  EXPECT_GT(made.number, 0U);
  const auto found = read(of(store), "x").value();
  EXPECT_EQ(found.value, "one");
  EXPECT_EQ(found.version, made);
}

TEST_P(cells, any_bytes_up_to_the_limit_can_be_written) {
  INTERLOCK_NEEDS(cells);
  std::string bytes;
  while (bytes.size() < of(store).limits().value_max) bytes += static_cast<char>(bytes.size() * 7);
  version at;
  for (const auto& value : {bytes, std::string{}, std::string("\0", 1), std::string("\r\n")}) {
    at = write_if(of(store), fresh_write("x", at, value)).value();
    const auto found = read(of(store), "x").value();
    EXPECT_EQ(found.value, value);
    EXPECT_EQ(found.version, at) << "empty is not the same as not there";
  }
}

TEST_P(cells, who_expects_another_version_is_told_of_the_conflict_and_changes_nothing) {
  INTERLOCK_NEEDS(cells);
  const auto first = write_if(of(store), fresh_write("x", {}, "one")).value();
  const auto second = write_if(of(store), fresh_write("x", first, "two")).value();
  for (const auto& expected : {version{}, first, version{second.number + 1}}) {
    const auto late = write_if(of(store), fresh_write("x", expected, "late"));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error(), errc::conflict) << late.error().message();
    const auto removed = write_if(of(store), fresh_write("x", expected, std::nullopt));
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error(), errc::conflict) << removed.error().message();
  }
  EXPECT_EQ(read(of(store), "x").value().value, "two");
}

TEST_P(cells, versions_rise_over_removal) {
  INTERLOCK_NEEDS(cells);
  std::set<std::uint64_t> seen;
  std::uint64_t last = 0;
  for (int round = 0; round < 5; ++round) {
    const auto made = write_if(of(store), fresh_write("x", {}, "same")).value();
    EXPECT_GT(made.number, last);
    EXPECT_TRUE(seen.insert(made.number).second);
    last = made.number;
    ASSERT_TRUE(write_if(of(store), fresh_write("x", made, std::nullopt)));
    EXPECT_EQ(read(of(store), "x").value().version.number, 0U);
  }
}

TEST_P(cells, the_same_mark_changes_once_however_often_it_is_asked_for) {
  INTERLOCK_NEEDS(cells);
  auto mine = fresh_write("x", {}, "mine");
  const auto made = write_if(of(store), mine).value();
  mine.again = true;
  EXPECT_EQ(write_if(of(store), mine).value(), made);
  const auto next = write_if(of(store), fresh_write("x", made, "theirs")).value();
  EXPECT_EQ(write_if(of(store), mine).value(), made) << "it happened, although it was written over";
  EXPECT_EQ(read(of(store), "x").value().value, "theirs");
  ASSERT_TRUE(write_if(of(store), fresh_write("x", next, std::nullopt)));
  EXPECT_EQ(write_if(of(store), mine).value(), made) << "although it was removed";
  EXPECT_EQ(read(of(store), "x").value().version.number, 0U) << "and it does not come back";
}

TEST_P(cells, what_was_asked_before_and_is_forgotten_is_unknown_and_no_conflict) {
  INTERLOCK_NEEDS(cells);
  auto mine = fresh_write("x", {}, "0");
  auto at = write_if(of(store), mine).value();
  for (std::size_t i = 0; i < cell_marks; ++i)
    at = write_if(of(store), fresh_write("x", at, std::to_string(i))).value();
  mine.again = true;
  const auto asked = write_if(of(store), mine);
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error(), errc::indeterminate) << asked.error().message();
  auto other = fresh_write("x", version{at.number - 1}, "late");
  other.again = true;
  const auto late = write_if(of(store), other);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error(), errc::conflict) << "that one would be remembered: " << late.error().message();
}

TEST_P(cells, a_cell_is_forgotten_when_its_time_is_over_and_never_repeats_a_version) {
  INTERLOCK_NEEDS(cells);
  auto brief = fresh_write("x", {}, "brief");
  brief.keep = 200ms;
  const auto made = write_if(of(store), brief).value();
  EXPECT_TRUE(eventually([&] { return read(of(store), "x").value().version.number == 0; }));
  auto at = write_if(of(store), fresh_write("x", {}, "for ever")).value();
  EXPECT_GT(at, made);
  brief = fresh_write("x", at, "brief again");
  brief.keep = 200ms;
  at = write_if(of(store), brief).value();
  ASSERT_TRUE(write_if(of(store), fresh_write("x", at, "for ever"))) << "the next change decides how long";
  std::this_thread::sleep_for(400ms);
  EXPECT_EQ(read(of(store), "x").value().value, "for ever");
}

TEST_P(cells, watchers_are_told_and_no_longer_when_they_have_stopped) {
  INTERLOCK_NEEDS(cells);
  if (!of(store).limits().push) GTEST_SKIP() << "this store tells nobody";
  const auto writer = store->join();
  std::atomic<int> told{0};
  auto watch = std::make_unique<subscription>(of(store).watch("x", [&] { ++told; }));
  const auto other = of(store).watch("y", [] {});
  std::this_thread::sleep_for(200ms);  // the store may tell it once that it is listening
  const int before = told;
  auto at = write_if(*writer.link->store().cells(), fresh_write("x", {}, "one")).value();
  EXPECT_TRUE(eventually([&] { return told > before; }));
  watch.reset();
  const int after = told;
  ASSERT_TRUE(write_if(*writer.link->store().cells(), fresh_write("x", at, "two")));
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(told, after);
}

TEST_P(cells, names_stay_apart_and_have_nothing_to_do_with_locks_of_the_same_name) {
  INTERLOCK_NEEDS(cells);
  const auto host = store->connect();
  const std::vector<std::string> all{"a",     "{a}", "a}:b",  "ilk1:{a}:b", "a%7D", "ilk1:{a}:v", "w:a",
                                     "'; --", "*",   "a:v",   "{",          "}",    "a b",        "a\xc2\xa0",
                                     "A",     "a/b", "ilk1:", "a\\",        "$",    "x''",        "ilk1:w:a"};
  std::vector<guard> held;
  for (const auto& name : all) held.push_back(host.acquire(name, {.wait = 0ms}));
  for (const auto& name : all) ASSERT_TRUE(write_if(of(store), fresh_write(name, {}, name))) << name;
  for (const auto& name : all) EXPECT_EQ(read(of(store), name).value().value, name);
  for (auto& one : held) EXPECT_TRUE(one.valid() && one.release()) << one.name();
  for (const auto& name : all) EXPECT_EQ(read(of(store), name).value().value, name);
  EXPECT_TRUE(store->survey().empty()) << "a cell is no lock";
}

}  // namespace interlock::inline v1::testing
