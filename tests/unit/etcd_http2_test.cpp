// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "backends/etcd/http2_session.hpp"
#include "support/http2_bytes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

/// What comes from the server is written here byte by byte, because a real one never says most of it.
namespace interlock::etcd_store {
namespace {

using namespace test_support::http2;

class question final : public exchange {
 public:
  question() : exchange(kind::one_question, "/etcdserverpb.KV/Txn") {}
  void came(std::string_view) override {}
  void ended(const call_end&) override {}
};

/// A session whose server has greeted.
class etcd_http2 : public ::testing::Test {
 protected:
  etcd_http2() {
    EXPECT_TRUE(session.receive(frame(type::settings, 0, 0)));
    sent();
  }
  std::vector<sent_frame> sent() {
    std::string bytes;
    session.produce(bytes);
    return frames_in(bytes);
  }
  bool has_sent(type wanted) {
    for (const auto& one : sent())
      if (one.is == wanted) return true;
    return false;
  }
  exchange_ptr ask() {
    auto one = std::make_shared<question>();
    EXPECT_TRUE(session.open(one));
    sent();
    return one;
  }
  /// What became of the only exchange that something was told of.
  call_end ending() {
    for (auto& one : session.take_news())
      if (one.end) return *one.end;
    ADD_FAILURE() << "it has not ended";
    return {};
  }

  http2_session session{"localhost:2379", false, "2000m"};
};

TEST_F(etcd_http2, a_message_and_a_status_are_the_answer) {
  ask();
  ASSERT_TRUE(session.receive(beginning(1) + frame(type::data, 0, 1, message("yes")) + trailers(1, "0")));
  const auto news = session.take_news();
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0].message, "yes");
  ASSERT_TRUE(news[1].end);
  EXPECT_TRUE(news[1].end->ok());
  EXPECT_TRUE(session.idle());
}

TEST_F(etcd_http2, an_answer_may_come_byte_by_byte) {
  ask();
  std::vector<std::string> told;
  bool over = false;
  for (const char one : beginning(1) + frame(type::data, 0, 1, message("yes")) + trailers(1, "0")) {
    ASSERT_TRUE(session.receive({&one, 1}));
    for (const auto& each : session.take_news()) {
      if (!each.end) told.push_back(each.message);
      over = over || each.end;
    }
  }
  EXPECT_EQ(told, std::vector<std::string>{"yes"});
  EXPECT_TRUE(over);
}

TEST_F(etcd_http2, an_error_may_be_all_there_is_and_its_words_are_decoded) {
  ask();
  ASSERT_TRUE(session.receive(
      frame(type::headers, end_headers | end_stream, 1,
            status_200 + literal("grpc-status", "14") + literal("grpc-message", "no leader%21 %e2%82%ac 5%"))));
  const auto end = ending();
  EXPECT_EQ(end.is, call_end::kind::answered);
  EXPECT_EQ(end.code, grpc_code::unavailable);
  EXPECT_EQ(end.words, "no leader! \xe2\x82\xac 5%");
}

TEST_F(etcd_http2, what_a_parting_server_has_not_begun_was_never_sent_and_the_rest_goes_on) {
  ask(), ask();
  ASSERT_TRUE(session.receive(frame(type::goaway, 0, 0, number(1, 4) + number(0, 4))));
  EXPECT_TRUE(session.leaving());
  EXPECT_EQ(ending().is, call_end::kind::never_sent);
  EXPECT_FALSE(session.idle());
  session.receive(beginning(1) + frame(type::data, 0, 1, message("")) + trailers(1, "0"));
  EXPECT_TRUE(ending().ok());
}

TEST_F(etcd_http2, a_refused_call_was_never_sent_and_one_that_was_broken_off_may_have_been_done) {
  constexpr std::uint32_t refused = 7, internal_error = 2;
  ask();
  ASSERT_TRUE(session.receive(frame(type::reset, 0, 1, number(refused, 4))));
  EXPECT_EQ(ending().is, call_end::kind::never_sent);
  ask();
  ASSERT_TRUE(session.receive(frame(type::reset, 0, 3, number(internal_error, 4))));
  EXPECT_EQ(ending().is, call_end::kind::unanswered);
}

TEST_F(etcd_http2, an_answer_without_a_status_or_with_half_a_message_is_none) {
  ask();
  ASSERT_TRUE(session.receive(beginning(1) + frame(type::data, end_stream, 1, message("yes"))));
  EXPECT_EQ(ending().is, call_end::kind::unanswered);
  ask();
  ASSERT_TRUE(session.receive(beginning(3) + frame(type::data, 0, 3, message("yes").substr(0, 6)) + trailers(3, "0")));
  EXPECT_EQ(ending().is, call_end::kind::unanswered);
}

TEST_F(etcd_http2, compressed_and_endless_messages_are_refused) {
  for (const std::uint32_t stream : {1U, 3U}) {
    ask();
    const auto prefix =
        stream == 1 ? std::string(1, '\1') + number(3, 4) : std::string(1, '\0') + number(0x7fffffff, 4);
    ASSERT_TRUE(session.receive(beginning(stream) + frame(type::data, 0, stream, prefix + "abc")));
    EXPECT_EQ(ending().is, call_end::kind::unanswered);
    EXPECT_TRUE(has_sent(type::reset));
    EXPECT_TRUE(session.idle());
    ASSERT_TRUE(session.receive(frame(type::data, 0, stream, "more"))) << "which was under way";
    EXPECT_FALSE(session.has_news());
  }
}

TEST_F(etcd_http2, a_header_without_end_is_refused) {
  ask();
  std::string many = status_200;
  for (int i = 0; i < 150; ++i) many += literal("some-name", std::string(80, 'x'));
  ASSERT_TRUE(session.receive(frame(type::headers, end_headers, 1, many)));
  EXPECT_EQ(ending().is, call_end::kind::unanswered);
  EXPECT_TRUE(has_sent(type::reset));
}

TEST_F(etcd_http2, what_comes_for_a_cancelled_call_is_ignored) {
  const auto one = ask();
  session.cancel(*one);
  EXPECT_TRUE(has_sent(type::reset));
  EXPECT_TRUE(session.receive(beginning(1) + frame(type::data, 0, 1, message("late")) + trailers(1, "0")));
  EXPECT_FALSE(session.has_news());
}

TEST_F(etcd_http2, pings_are_answered_when_that_is_said_and_a_flood_of_them_is_the_end) {
  ASSERT_TRUE(session.receive(frame(type::ping, 0, 0, "12345678")));
  EXPECT_TRUE(sent().empty());
  session.answer_pings();
  const auto answers = sent();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].is, type::ping);
  EXPECT_EQ(answers[0].flags, acknowledged);
  EXPECT_EQ(answers[0].payload, "12345678");
  std::string flood;
  for (int i = 0; i < 1'000; ++i) flood += frame(type::ping, 0, 0, "12345678");
  EXPECT_FALSE(session.receive(flood));
}

TEST_F(etcd_http2, a_flood_of_settings_is_the_end) {
  std::string flood;
  for (int i = 0; i < 1'000; ++i) flood += frame(type::settings, 0, 0);
  EXPECT_FALSE(session.receive(flood));
}

TEST_F(etcd_http2, an_answer_to_what_nobody_asked_is_the_end) {
  EXPECT_FALSE(session.receive(beginning(99)));
  EXPECT_FALSE(session.has_news());
}

TEST(etcd_http2_greeting, whoever_speaks_another_protocol_is_not_taken_for_a_member) {
  http2_session session("localhost:2379", false, "2000m");
  EXPECT_FALSE(session.receive("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_FALSE(session.greeted());
}

TEST(etcd_http2_sending, a_call_is_one_header_and_one_message_and_the_second_header_is_short) {
  http2_session session("localhost:2379", false, "2000m");
  std::string bytes;
  ASSERT_TRUE(session.receive(frame(type::settings, 0, 0)));
  session.produce(bytes);
  std::vector<std::size_t> lengths;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session.open(std::make_shared<question>()));
    bytes.clear();
    EXPECT_TRUE(session.produce(bytes));
    const auto frames = frames_in(bytes);
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0].is, type::headers);
    EXPECT_EQ(frames[1].is, type::data);
    EXPECT_EQ(frames[1].flags, end_stream);
    lengths.push_back(frames[0].payload.size());
  }
  EXPECT_LT(lengths[1], lengths[0] / 2) << "what was said before is one byte a field, but for the path";
}

}  // namespace
}  // namespace interlock::etcd_store

#endif
