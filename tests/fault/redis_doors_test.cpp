// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_REDIS

#include "support/eventually.hpp"
#include "support/lease_of.hpp"
#include "support/redis_replicas.hpp"
#include "support/redis_server.hpp"

#include <interlock/client.hpp>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

/// Who is let in, and who is not believed: TLS, passwords, rights, servers that are none.
namespace interlock {
namespace {

using namespace std::chrono_literals;
using test_support::certificate;
using test_support::certificates;
using test_support::eventually;
using test_support::lease_of;
using test_support::redis_replicas;
using test_support::redis_server;

std::string trusting(const certificate& whom) { return "tls_ca=" + whom.authority.string(); }

/// Why this URL does not connect.
failure refusal_of(const std::string& url, client_options options = {}) {
  try {
    const client locks(url, std::move(options));
  } catch (const lock_error& wrong) {
    return wrong.why();
  }
  return failure(errc::internal, "connected");
}

TEST(redis_tls, a_certificate_for_this_host_by_a_trusted_authority_is_accepted) {
  const redis_server server({.tls = certificates::get().good});
  const client locks(server.tls_url(trusting(certificates::get().good)));
  EXPECT_TRUE(locks.acquire("a").valid());
}

TEST(redis_tls, a_certificate_by_an_unknown_authority_is_not) {
  const redis_server server({.tls = certificates::get().stranger});
  const auto why = refusal_of(server.tls_url(trusting(certificates::get().good)));
  EXPECT_NE(why.message().find("certificate"), std::string::npos) << why.message();
  EXPECT_NE(refusal_of("rediss://localhost:" + std::to_string(server.tls_port())).message().find("certificate"),
            std::string::npos)
      << "nor by the system's";
}

TEST(redis_tls, a_certificate_for_another_host_is_not) {
  const redis_server server({.tls = certificates::get().wrong_host});
  const auto why = refusal_of(server.tls_url(trusting(certificates::get().wrong_host)));
  EXPECT_NE(why.message().find("certificate"), std::string::npos) << why.message();
}

TEST(redis_tls, an_expired_certificate_is_not) {
  const redis_server server({.tls = certificates::get().expired});
  const auto why = refusal_of(server.tls_url(trusting(certificates::get().expired)));
  EXPECT_NE(why.message().find("expired"), std::string::npos) << why.message();
}

TEST(redis_tls, plain_and_tls_do_not_understand_each_other_and_say_so) {
  const redis_server server({.tls = certificates::get().good});
  EXPECT_EQ(refusal_of("rediss://127.0.0.1:" + std::to_string(server.port()) + "?" +
                       trusting(certificates::get().good) + "&connect_timeout=1s")
                .kind(),
            errc::unavailable);
  EXPECT_EQ(refusal_of("redis://127.0.0.1:" + std::to_string(server.tls_port()) + "?connect_timeout=1s").kind(),
            errc::unavailable);
}

TEST(redis_tls, options_for_tls_without_tls_are_a_mistake) {
  EXPECT_EQ(refusal_of("redis://localhost?tls_ca=/etc/ca.pem").kind(), errc::invalid_argument);
  EXPECT_EQ(refusal_of("rediss://localhost?tls_ca=/no/such/file").kind(), errc::invalid_argument);
}

TEST(redis_password, is_needed_where_it_is_asked_for) {
  const redis_server server({.password = "sesame"});
  const auto port = std::to_string(server.port());
  EXPECT_TRUE(client(server.url()).try_acquire("a").has_value());
  const auto none = refusal_of("redis://127.0.0.1:" + port);
  EXPECT_EQ(none.kind(), errc::denied);
  EXPECT_NE(none.message().find("password"), std::string::npos) << none.message();
  const auto wrong = refusal_of("redis://:nonsense@127.0.0.1:" + port);
  EXPECT_EQ(wrong.kind(), errc::denied);
  EXPECT_EQ(wrong.message().find("nonsense"), std::string::npos) << "no password in any message";
}

TEST(redis_password, can_come_from_the_program_and_change) {
  const redis_server server({.password = "first"});
  std::atomic<const char*> secret = "first";
  client_options options;
  options.password = [&] { return std::string(secret.load()); };
  const client locks("redis://127.0.0.1:" + std::to_string(server.port()), options);
  const auto held = locks.acquire("a", lease_of(20s));
  EXPECT_TRUE(held.valid());
  server.command({"CONFIG", "SET", "requirepass", "second"});
  EXPECT_TRUE(locks.try_acquire("b")) << "who is in stays in";
  const auto hang_up = [&] {
    for (const auto* type : {"normal", "pubsub"}) server.command({"CLIENT", "KILL", "TYPE", type});
  };
  hang_up();
  ASSERT_TRUE(eventually([&] { return !locks.attempt("b", {.wait = 100ms}); }, 5s)) << "the old one is still let in";
  secret = "second";
  EXPECT_TRUE(eventually([&] { return locks.attempt("c", {.wait = 1s}).has_value(); }, 10s));
  EXPECT_TRUE(eventually([&] { return held.state() == lock_state::held; }, 5s));
}

TEST(redis_rights, too_few_are_said_and_nothing_is_granted) {
  const redis_server server({.users = {"guest on >guest ~other:* &other:* +@all"}});
  const client locks("redis://guest:guest@127.0.0.1:" + std::to_string(server.port()));
  const auto got = locks.attempt("a");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), errc::denied) << got.error().message();
}

TEST(redis_server_kind, a_replica_is_not_a_place_to_lock) {
  redis_replicas servers(1);
  const auto why = refusal_of(servers.replica(0).url());
  EXPECT_EQ(why.kind(), errc::unavailable);
  EXPECT_NE(why.message().find("replica"), std::string::npos) << why.message();
  EXPECT_NE(refusal_of(servers.replica(0).url("protocol=2")).message().find("replica"), std::string::npos);
}

/// Listens, and answers everybody with the same bytes.
class impostor {
 public:
  explicit impostor(std::string says) : says_(std::move(says)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&where), size) != 0 || ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size) != 0)
      throw std::runtime_error("no listener");
    port_ = ntohs(where.sin_port);
    thread_ = std::jthread([this] {
      for (int one = ::accept(listener_, nullptr, nullptr); one >= 0; one = ::accept(listener_, nullptr, nullptr)) {
        static_cast<void>(::send(one, says_.data(), says_.size(), MSG_NOSIGNAL));
        open_.push_back(one);
      }
    });
  }
  impostor(const impostor&) = delete;
  impostor& operator=(const impostor&) = delete;
  ~impostor() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int one : open_) ::close(one);
    ::close(listener_);
  }
  [[nodiscard]] std::string url() const {
    return "redis://127.0.0.1:" + std::to_string(port_) + "?connect_timeout=500ms";
  }

 private:
  std::string says_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<int> open_;
  std::jthread thread_;
};

TEST(redis_impostor, a_server_that_speaks_something_else_is_refused) {
  for (const std::string says : {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "*99999999999\r\n",
                                 "$-5\r\n", "", ":1\r\n:2\r\n:3\r\n", "+OK\r\n", "%1\r\n+mode\r\n"}) {
    const impostor one(says);
    const auto why = refusal_of(one.url());
    EXPECT_NE(why.message(), "connected") << says;
    EXPECT_TRUE(why.kind() == errc::unavailable || why.kind() == errc::unsupported) << says << ": " << why.message();
  }
}

TEST(redis_require, more_than_redis_can_promise_is_refused_with_the_reason_found) {
  const redis_server server;
  const auto why = refusal_of(server.url("require=strict"));
  EXPECT_EQ(why.kind(), errc::unsupported);
  EXPECT_NE(why.message().find("persistence"), std::string::npos) << why.message();
  const redis_server evicting({.config = {"maxmemory-policy allkeys-lru"}});
  EXPECT_NE(refusal_of(evicting.url("require=fenced")).message().find("allkeys-lru"), std::string::npos);
}

TEST(redis_url, mistakes_are_named) {
  for (const auto* url : {"redis://", "redis://a,b", "redis://h/x", "redis://h?db=-1", "redis://h?layout=blue",
                          "redis://h?protocol=4", "redis://h?timeout=0s", "redis://h?timeout=fast",
                          "redis://h?replicas=x", "redis+unix://host", "redis+sentinel://h", "redis+cluster://h/1",
                          "redis://h?colour=red", "redis://h?replicas=1&replica_timeout=5s"}) {
    const auto why = refusal_of(url);
    EXPECT_EQ(why.kind(), errc::invalid_argument) << url << ": " << why.message();
    EXPECT_NE(why.message().find("store URL"), std::string::npos) << url << ": " << why.message();
  }
}

}  // namespace
}  // namespace interlock

#endif
