// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ZOOKEEPER

#include "backends/zookeeper/jute.hpp"
#include "backends/zookeeper/notes.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/recipe.hpp"
#include "backends/zookeeper/requests.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace interlock::zookeeper_store {
namespace {

std::vector<std::string> in_line(const recipe& how, const std::vector<std::string_view>& children) {
  std::vector<std::string> out;
  for (const auto& one : line_up(how, children)) out.push_back(one.node);
  return out;
}

TEST(zookeeper_paths, every_name_has_one_node_right_below_the_root_and_no_two_share_it) {
  const lock_root root("/locks"), top("");
  std::set<std::string> seen;
  for (const std::string name : {"a", "a/b", "a%2Fb", "a%2fb", "%", ".", "..", "...", "zookeeper", "/", "//", "a ",
                                 "\xc3\xa4", "a\xcc\x88", "locks", "leases", "_c_x", "%7Aookeeper"}) {
    for (const auto* each : {&root, &top}) {
      const auto path = each->of(name);
      EXPECT_TRUE(path.starts_with(each->path() + "/"));
      const auto child = path.substr(each->path().size() + 1);
      EXPECT_EQ(child.find('/'), child.npos) << name;
      EXPECT_NE(child, ".");
      EXPECT_NE(child, "..");
      EXPECT_EQ(each->name_of(child), name);
    }
    EXPECT_TRUE(seen.insert(root.of(name)).second) << name;
    EXPECT_NE(top.of(name), "/zookeeper") << "where the servers keep their own";
  }
  EXPECT_EQ(root.of("orders-42"), "/locks/orders-42") << "what another library would use";
}

TEST(zookeeper_paths, a_node_that_no_name_would_make_is_nobodys) {
  const lock_root root("/locks");
  for (const char* child : {"%", "%2", "%2f", "%41", "a b", "\xc3\xa4", ""}) EXPECT_FALSE(root.name_of(child)) << child;
}

TEST(zookeeper_recipes, contenders_are_served_by_number_whoever_made_them) {
  EXPECT_EQ(in_line(curator_mutex, {"_c_9-lock-0000000003", "_c_1-lock-0000000010", "lock-0000000004", "locks", "x"}),
            (std::vector<std::string>{"_c_9-lock-0000000003", "lock-0000000004", "_c_1-lock-0000000010"}));
}

TEST(zookeeper_recipes, numbers_that_run_over_stay_in_order) {
  EXPECT_EQ(in_line(curator_mutex, {"lock--2147483648", "lock-2147483647", "lock--2147483647", "lock-2147483646"}),
            (std::vector<std::string>{"lock-2147483646", "lock-2147483647", "lock--2147483648", "lock--2147483647"}));
  EXPECT_TRUE(comes_before(std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()));
  EXPECT_FALSE(comes_before(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
  EXPECT_TRUE(comes_before(-1, 0));
}

TEST(zookeeper_recipes, a_number_is_what_stands_behind_the_mark_and_nothing_else) {
  const auto number = [](std::string_view child) {
    const auto read = read_contender(curator_mutex, child);
    return read ? std::optional(read->number) : std::nullopt;
  };
  EXPECT_EQ(number("_c_1-lock-0000000012"), 12);
  EXPECT_EQ(number("lock-lock-0000000012"), 12);
  EXPECT_EQ(number("_c_1-lock-2147483647"), 2147483647);
  EXPECT_EQ(number("_c_1-lock--2147483648"), -2147483647 - 1);
  EXPECT_EQ(number("_c_1-lock--000000005"), -5);
  for (const auto* none : {"lock-", "lock-123", "lock-0000000012x", "lock-x0000000012", "lock-99999999999",
                           "0000000012", "", "-0000000012", "lock---000000012", "leases", "_c_1-latch-0000000012"})
    EXPECT_FALSE(number(none)) << none;
}

TEST(zookeeper_recipes, the_next_number_is_known_also_where_they_run_over) {
  EXPECT_TRUE(comes_next(4, 5));
  EXPECT_FALSE(comes_next(5, 5));
  EXPECT_FALSE(comes_next(4, 6));
  EXPECT_FALSE(comes_next(5, 4));
  EXPECT_TRUE(comes_next(2147483647, -2147483647 - 1));
}

TEST(zookeeper_recipes, a_writer_waits_for_whoever_is_before_it_and_a_reader_for_the_writers) {
  const std::vector<std::string_view> children{"a-__READ__0000000001", "b-__READ__0000000002", "c-__WRIT__0000000003",
                                               "d-__READ__0000000004", "e-__WRIT__0000000005"};
  const auto line = line_up(curator_rw, children);
  EXPECT_EQ(holders_in(line), 2U);
  EXPECT_TRUE(find_place(line, children[1]).granted);
  EXPECT_EQ(find_place(line, children[1]).behind, 3U);
  EXPECT_EQ(find_place(line, children[2]).watch, children[1]);
  EXPECT_EQ(find_place(line, children[2]).ahead, 0U);
  EXPECT_EQ(find_place(line, children[3]).watch, children[2]);
  EXPECT_EQ(find_place(line, children[4]).watch, children[3]);
  EXPECT_EQ(find_place(line, children[4]).ahead, 2U);
  EXPECT_FALSE(find_place(line, "f-__READ__0000000006").there);
}

TEST(zookeeper_recipes, contenders_who_would_not_be_excluded_are_seen) {
  EXPECT_EQ(foreign_recipe(curator_mutex, {"_c_1-lock-0000000001", "locks", "leases"}), nullptr);
  EXPECT_EQ(foreign_recipe(curator_mutex, {"_c_1-__WRIT__0000000001"}), &curator_rw);
  EXPECT_EQ(foreign_recipe(curator_rw, {"_c_1-lock-0000000001"}), &curator_mutex);
  EXPECT_EQ(foreign_recipe(curator_mutex, {"0123__lock__0000000001"}), &kazoo_lock);
  EXPECT_EQ(foreign_recipe(kazoo_lock, {"_c_1-lock-0000000001"}), &curator_mutex);
}

TEST(zookeeper_recipes, a_claims_id_can_be_read_from_its_node) {
  std::array<std::byte, 16> bytes{};
  bytes[0] = std::byte{0xab};
  bytes[15] = std::byte{0x7f};
  const claim_id id(bytes);
  EXPECT_EQ(node_prefix(curator_mutex, id, "lock-"), "_c_ab000000-0000-0000-0000-00000000007f-lock-");
  EXPECT_EQ(id_of(node_prefix(curator_rw, id, "__READ__") + "0000000007"), id);
  EXPECT_EQ(id_of(node_prefix(kazoo_lock, id, "__lock__") + "0000000007"), id);
  EXPECT_NE(id_of("lock-0000000007"), id_of("lock-0000000008"));
}

TEST(zookeeper_notes, come_back_as_they_were_written_whatever_the_words) {
  claim_notes notes;
  notes.host = "a host=b %20";
  notes.program = "p\n";
  notes.purpose = "nightly report, \xc3\xa4";
  notes.pid = 4711;
  notes.lease = milliseconds{30'000};
  notes.permits = 2;
  notes.limit = 5;
  const auto back = read_notes(write_notes(notes));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->host, notes.host);
  EXPECT_EQ(back->program, notes.program);
  EXPECT_EQ(back->purpose, notes.purpose);
  EXPECT_EQ(back->pid, notes.pid);
  EXPECT_EQ(back->lease, notes.lease);
  EXPECT_EQ(back->permits, 2U);
  EXPECT_EQ(back->limit, 5U);
  EXPECT_FALSE(read_notes("10.0.0.1")) << "what Curator writes";
  EXPECT_FALSE(read_notes(revoked));
  EXPECT_EQ(read_lock_notes(write_notes(lock_notes{.token = 7, .broken = "ab"})).token, 7U);
}

TEST(zookeeper_jute, a_hostile_server_costs_an_answer_and_no_memory) {
  std::string bytes;
  put_number(bytes, 0x7fffffff);  // so many texts
  put_number(bytes, 0x7ffffff0);  // so long
  reader many(bytes);
  EXPECT_TRUE(many.texts().empty());
  EXPECT_FALSE(many.ok());
  reader negative(std::string_view("\xff\xff\xff\x00", 4));
  EXPECT_TRUE(negative.text().empty());
  reader nothing;
  EXPECT_EQ(nothing.stat().czxid, 0);
  EXPECT_FALSE(nothing.ok());
  EXPECT_NE(error_of_all(code::ok, reader(std::string_view("\xff\xff\xff\xff\x00", 5))), 0) << "cut off";
}

TEST(zookeeper_jute, what_stopped_a_group_of_requests_is_found_behind_those_it_took_along) {
  std::string bytes;
  for (const int error : {0, -101, -2}) {
    put_number(bytes, -1);
    put_flag(bytes, false);
    put_number(bytes, error);
    put_number(bytes, error);
  }
  put_number(bytes, -1);
  put_flag(bytes, true);
  put_number(bytes, -1);
  EXPECT_EQ(error_of_all(code::ok, reader(bytes)), code::no_node);
}

}  // namespace
}  // namespace interlock::zookeeper_store

#endif
