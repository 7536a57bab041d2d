// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_ETCD

#include "backends/etcd/link.hpp"
#include "engine/loop.hpp"
#include "support/eventually.hpp"
#include "support/http2_bytes.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

/// Servers that are not etcd, or are just dying: what a caller may believe depends on what has left the client.
namespace interlock::etcd_store {
namespace {

using namespace std::chrono_literals;
using namespace test_support::http2;

/// One end of a connection, in the hands of a test.
class line {
 public:
  explicit line(int socket) : socket_(socket) {}
  line(const line&) = delete;
  line& operator=(const line&) = delete;
  ~line() { ::close(socket_); }

  void say(const std::string& bytes) const {
    ASSERT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  /// Until such a frame has come; false: the other side has gone, or 10 s are over.
  bool await(type wanted, int flags) {
    for (;;) {
      for (const auto& one : frames_in(heard_))
        if (one.is == wanted && (one.flags & flags) == flags) return true;
      pollfd ready{socket_, POLLIN, 0};
      char room[4096];
      const auto got = ::poll(&ready, 1, 10'000) > 0 ? ::recv(socket_, room, sizeof room, 0) : 0;
      if (got <= 0) return false;
      heard_.append(room, static_cast<std::size_t>(got));
    }
  }
  bool await_call() { return await(type::data, end_stream); }
  void await_end() {
    char room[4096];
    while (::recv(socket_, room, sizeof room, 0) > 0) {
    }
  }

 private:
  const int socket_;
  std::string heard_;
};

/// Does the same with every connection, one after the other.
class peer {
 public:
  explicit peer(std::function<void(line&)> script) : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listening_, 8), 0);
    EXPECT_EQ(::getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this, act = std::move(script)] {
      for (int one = 0; (one = ::accept(listening_, nullptr, nullptr)) >= 0;) {
        line to(one);
        act(to);
      }
    });
  }
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;
  ~peer() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  const int listening_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

class etcd_strangers : public ::testing::Test {
 protected:
  etcd_strangers() {
    loop->start([] {}, [] {});
  }
  ~etcd_strangers() override { loop->stop(); }

  result<outcome> ask(const peer& whom, int times = 1) {
    etcd_settings settings;
    settings.endpoints = {{"127.0.0.1", whom.port()}};
    settings.timeout = settings.connect_timeout = 300ms;
    const auto way = link::make(settings, *loop, real_time());
    result<outcome> out = failure(errc::internal);
    for (int i = 0; i < times; ++i) {
      auto answer = std::make_shared<std::promise<result<outcome>>>();
      way->commit({{}, {remove("x")}, {}}, [answer](result<outcome> got) { answer->set_value(std::move(got)); });
      out = answer->get_future().get();
    }
    way->close();
    return out;
  }

  std::unique_ptr<runtime::loop> loop = runtime::make_asio_loop();
};

const std::string greeting = frame(type::settings, 0, 0);

TEST_F(etcd_strangers, nothing_is_sent_to_one_that_does_not_greet) {
  std::atomic<bool> called{false};
  const peer silent([&](line& to) { called = called || to.await_call(); });
  EXPECT_EQ(ask(silent).error(), errc::unavailable);
  EXPECT_FALSE(called);
}

TEST_F(etcd_strangers, one_that_speaks_another_protocol_is_unavailable) {
  const peer web([](line& to) {
    to.say("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    to.await_end();
  });
  const auto got = ask(web);
  EXPECT_EQ(got.error(), errc::unavailable) << got.error().message();
}

TEST_F(etcd_strangers, one_that_dies_with_a_call_may_have_done_it) {
  const peer dying([](line& to) {
    to.say(greeting);
    to.await_call();
  });
  const auto got = ask(dying);
  EXPECT_EQ(got.error(), errc::indeterminate) << got.error().message();
}

TEST_F(etcd_strangers, one_that_leaves_without_having_begun_a_call_has_not_done_it) {
  const peer leaving([](line& to) {
    to.say(greeting);
    to.await_call();
    to.say(frame(type::goaway, 0, 0, number(0, 4) + number(0, 4)));
    to.await_end();
  });
  const auto got = ask(leaving);
  EXPECT_EQ(got.error(), errc::unavailable) << got.error().message();
}

TEST_F(etcd_strangers, one_that_leaves_finishes_what_it_has_begun_and_the_next_call_goes_elsewhere) {
  std::atomic<int> connections{0};
  const peer leaving([&](line& to) {
    ++connections;
    to.say(greeting);
    if (!to.await_call()) return;
    to.say(frame(type::goaway, 0, 0, number(1, 4) + number(0, 4)));
    to.say(beginning(1) + frame(type::data, 0, 1, message("")) + trailers(1, "0"));
    to.await_end();
  });
  const auto got = ask(leaving, 2);
  EXPECT_TRUE(got) << got.error().message();
  EXPECT_EQ(connections, 2);
}

TEST_F(etcd_strangers, one_that_does_not_answer_in_time_is_told_that_nobody_waits_any_more) {
  std::atomic<bool> told{false};
  const peer slow([&](line& to) {
    to.say(greeting);
    told = told || to.await(type::reset, 0);
  });
  const auto got = ask(slow);
  EXPECT_EQ(got.error(), errc::indeterminate) << got.error().message();
  EXPECT_TRUE(test_support::eventually([&] { return told.load(); }));
}

TEST_F(etcd_strangers, one_that_asks_for_endless_answers_is_left) {
  const peer flooding([](line& to) {
    to.say(greeting);
    to.await_call();
    std::string pings;
    for (int i = 0; i < 100; ++i) pings += frame(type::ping, 0, 0, "12345678");
    to.say(pings);
    to.await_end();
  });
  const auto got = ask(flooding);
  EXPECT_EQ(got.error(), errc::indeterminate);
  EXPECT_NE(got.error().message().find("pings"), std::string::npos) << got.error().message();
}

}  // namespace
}  // namespace interlock::etcd_store

#endif
