// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/exchange.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct nghttp2_session;

namespace interlock::inline v1::etcd_store {

/// One connection's HTTP/2, as far as gRPC needs it: bytes come in and go out as strings, exchanges are what they mean.
/// nghttp2 knows frames, header compression and flow control. Not locked; calls nobody back.
///
/// Whatever the other side sends, it costs bounded memory: messages and fields have a greatest length, and what is owed
/// to it a greatest number.
class http2_session {
 public:
  /// Something was said in an exchange, or it has ended.
  struct news {
    exchange_ptr of{};
    std::string message{};
    std::optional<call_end> end{};
  };

  /// `timeout`: what the server is told about questions, as gRPC writes it.
  http2_session(std::string authority, bool tls, std::string timeout);
  http2_session(const http2_session&) = delete;
  http2_session& operator=(const http2_session&) = delete;
  ~http2_session();

  /// false: that was not HTTP/2, or too much of it; the connection is of no more use.
  bool receive(std::string_view bytes);
  /// Appends what is to be sent. Whether any of it should not wait for what is sent next.
  bool produce(std::string& out);
  /// What either of them has brought, in order.
  [[nodiscard]] std::vector<news> take_news() noexcept { return std::exchange(told_, {}); }
  [[nodiscard]] bool has_news() const noexcept { return !told_.empty(); }

  /// false: no more streams on this connection.
  bool open(const exchange_ptr& what);
  /// More was put behind its unsent messages.
  void resume(const exchange& what);
  /// Nothing is told of it any more.
  void cancel(exchange& what);
  void ping();
  /// The server's pings, which are not answered until this is said: etcd sends one with nearly every answer as long as
  /// they are, and each would cost both sides a packet.
  void answer_pings();

  [[nodiscard]] bool owes_answers() const noexcept { return !owed_.empty(); }
  [[nodiscard]] bool greeted() const noexcept { return greeted_; }
  /// The server takes no more calls here (GOAWAY).
  [[nodiscard]] bool leaving() const noexcept { return leaving_; }
  [[nodiscard]] bool idle() const noexcept { return streams_.empty(); }
  [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }
  /// All of them, and forgets them.
  [[nodiscard]] std::vector<exchange_ptr> all();

 private:
  struct hooks;  // what nghttp2 calls
  friend struct hooks;

  [[nodiscard]] bool closing() const noexcept;
  exchange_ptr find(std::int32_t stream) const;
  void finish(const exchange_ptr& what, call_end how);
  void reset(std::int32_t stream);
  void heard(exchange& what, std::string_view name, std::string_view value);
  [[nodiscard]] static call_end end_of(const exchange& what);
  void owe(const std::uint8_t* ping);

  const std::string authority_, timeout_;
  const bool tls_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, exchange_ptr> streams_;
  std::vector<news> told_;
  std::vector<std::array<std::uint8_t, 8>> owed_;
  bool greeted_ = false, leaving_ = false, urgent_ = false, flooded_ = false;
  std::string wrong_;
};

}  // namespace interlock::inline v1::etcd_store
