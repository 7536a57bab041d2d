// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "backends/redis/outbox.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace interlock::inline v1::redis_store {
namespace {

const script alone_one("return 1"), alone_two("return 2"), all("return {}");

void put(outbox& to, const packet& what) {
  const outbox::about about{.called = what.called()};
  if (what.part().all != nullptr)
    to.join(about, what.part(), [](const result<reply>&) {});
  else
    to.push(about, what.bytes(), [](const result<reply>&) {});
}
void put_part(outbox& to, const script& alone, std::string_view key, std::string_view argument) {
  packet out(alone, {key}, 1);
  out.joins(all).arg(argument);
  put(to, out);
}
// What the server would read: the words of each command.
std::vector<std::vector<std::string>> sent(outbox& from) {
  from.close();
  std::string text(from.unsent());
  from.sent(text.size());
  std::vector<std::vector<std::string>> out;
  reply_parser parser;
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(parser.used())) {
    EXPECT_EQ(parser.parse(rest), reply_parser::outcome::complete);
    out.emplace_back();
    for (const auto word : parser.value()) out.back().emplace_back(word.text());
  }
  return out;
}
using words = std::vector<std::vector<std::string>>;

TEST(redis_outbox, one_alone_is_sent_as_it_would_be) {
  outbox out;
  put_part(out, alone_one, "k", "a");
  put_part(out, alone_two, "k2", "a2");
  sent(out);  // the first calls bring the texts
  put_part(out, alone_one, "k", "a");
  EXPECT_EQ(sent(out), (words{{"EVAL", "return 1", "1", "k", "a"}}));
  put_part(out, alone_one, "k", "a");
  EXPECT_EQ(sent(out), (words{{"EVALSHA", alone_one.sha, "1", "k", "a"}}));
  EXPECT_EQ(out.back().bundle, 1U);
}

TEST(redis_outbox, what_comes_together_is_one_call_with_the_keys_first) {
  outbox out;
  put_part(out, alone_one, "k", "a");
  put_part(out, alone_two, "k2", "a2");
  EXPECT_EQ(sent(out), (words{{"EVAL", "return {}", "2", "k", "k2", "a", "a2"}}));
  put_part(out, alone_two, "k3", "a3");
  put_part(out, alone_one, "k4", "a4");
  EXPECT_EQ(sent(out), (words{{"EVALSHA", all.sha, "2", "k3", "k4", "a3", "a4"}}));
  ASSERT_EQ(out.size(), 4U);
  const auto first = out.pop();
  EXPECT_EQ(first->bundle, 2U);
  EXPECT_EQ(first->called, &all);
  EXPECT_TRUE(out.was_sent(*first) && out.was_sent(out.front()));
}

TEST(redis_outbox, a_short_call_is_sent_as_its_packet_would_be_alone_and_with_others) {
  std::string text;
  for (int i = 0; i < 1100; ++i) text += static_cast<char>('a' + i % 26);
  outbox out;
  put_part(out, alone_one, "k", "a");
  sent(out);
  put_part(out, alone_one, "k", "a");
  put_part(out, alone_one, "k", "a");
  sent(out);  // from here on both scripts are known
  for (const std::size_t size :
       {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 33, 67, 99, 100, 255, 256, 999, 1000, 1100}) {
    const auto key = std::string_view(text).substr(0, size), argument = std::string_view(text).substr(1100 - size);
    const short_call call{.called = &alone_one,
                          .all = &all,
                          .key = {"ilk1:{", key, "}:b"},
                          .argument = {argument, "", argument.substr(0, size / 3)}};
    const auto whole_key = "ilk1:{" + std::string(key) + "}:b";
    const auto whole_argument = std::string(argument) + std::string(argument.substr(0, size / 3));
    const words expected{{"EVALSHA", alone_one.sha, "1", whole_key, whole_argument}};
    const auto ignore = [](const result<reply>&) {};
    out.push({.called = &alone_one}, call, ignore);
    EXPECT_EQ(sent(out), expected) << size;
    out.join({.called = &alone_one}, call, ignore);
    EXPECT_EQ(sent(out), expected) << size;
    put(out, packet(call));
    EXPECT_EQ(sent(out), expected) << size;
    out.join({.called = &alone_one}, call, ignore);
    put(out, packet(call));
    EXPECT_EQ(sent(out), (words{{"EVALSHA", all.sha, "2", whole_key, whole_key, whole_argument, whole_argument}}))
        << size;
  }
}

TEST(redis_outbox, nothing_overtakes_and_nothing_joins_what_was_closed) {
  outbox out;
  put_part(out, alone_one, "k", "a");
  put_part(out, alone_one, "k2", "a2");
  put(out, packet({"PING"}));
  put_part(out, alone_one, "k3", "a3");
  EXPECT_GT(out.unsent_size(), out.unsent().size()) << "the last one may still be joined";
  EXPECT_EQ(sent(out),
            (words{{"EVAL", "return {}", "2", "k", "k2", "a", "a2"}, {"PING"}, {"EVAL", "return 1", "1", "k3", "a3"}}));
  put_part(out, alone_one, "k4", "a4");
  EXPECT_EQ(sent(out), (words{{"EVALSHA", alone_one.sha, "1", "k4", "a4"}}));
}

TEST(redis_outbox, what_was_not_closed_was_not_sent) {
  outbox out;
  put(out, packet({"PING"}));
  sent(out);
  put_part(out, alone_one, "k", "a");
  EXPECT_TRUE(out.was_sent(out.front()));
  EXPECT_FALSE(out.was_sent(out.back()));
}

TEST(redis_outbox, what_was_answered_makes_room_for_the_next) {
  outbox out;
  put(out, packet({"PING"}));
  sent(out);
  std::vector<outbox::pointer> answered;
  answered.push_back(out.pop());
  const auto* const room = answered.front().get();
  out.recycle(answered);
  EXPECT_TRUE(answered.empty() && out.empty());
  put_part(out, alone_one, "k", "a");
  EXPECT_EQ(&out.back(), room);
  EXPECT_EQ(out.back().called, &alone_one);
  EXPECT_FALSE(out.was_sent(out.back()));
}

TEST(redis_outbox, a_bundle_that_is_sent_again_keeps_its_order_and_its_bytes) {
  outbox out;
  for (const std::string key : {"k1", "k2"}) put_part(out, alone_one, key, "a");
  sent(out);
  std::vector<outbox::pointer> bundle;
  out.pop_bundle(bundle);
  ASSERT_EQ(bundle.size(), 2U);
  put(out, packet({"PING"}));
  out.push_again(bundle, "*1\r\n$5\r\nAGAIN\r\n");
  EXPECT_EQ(sent(out), (words{{"PING"}, {"AGAIN"}}));
  ASSERT_EQ(out.size(), 3U);
  out.pop();
  EXPECT_EQ(out.front().bundle, 2U);
  EXPECT_EQ(out.bytes_of(out.front()), out.bytes_of(out.back()));
}

TEST(redis_outbox, a_bundle_ends_somewhere) {
  outbox out;
  for (int i = 0; i < 100; ++i) put_part(out, alone_one, std::to_string(i), "a");
  const auto all_sent = sent(out);
  ASSERT_EQ(all_sent.size(), 4U);
  EXPECT_EQ(all_sent[0][2], "32");
  EXPECT_EQ(all_sent[3][2], "4");
}

}  // namespace
}  // namespace interlock::inline v1::redis_store

#endif
