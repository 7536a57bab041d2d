// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/grpc_message.hpp"

#include <interlock/clock.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace interlock::inline v1::etcd_store {

class http2_connection;

/// One call of gRPC's, which is one stream of HTTP/2's: a message or more each way, and an end.
class exchange : public std::enable_shared_from_this<exchange> {
 public:
  enum class kind : std::uint8_t { one_question /* and one answer, in time */, stream };

  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  virtual ~exchange() = default;

  /// Told with no lock of the connection's but the reader's, by one thread at a time.
  virtual void came(std::string_view message) = 0;
  /// The last that is told.
  virtual void ended(const call_end& how) = 0;

 protected:
  /// The method's name must last.
  exchange(kind is, const char* method) noexcept : kind_(is), method_(method) {}
  /// Where it was begun last; none: nowhere yet, or that connection has gone.
  [[nodiscard]] std::shared_ptr<http2_connection> along() const noexcept {
    const std::lock_guard lock(mutex_);
    return along_.lock();
  }

 private:
  friend class http2_session;
  friend class http2_connection;

  const kind kind_;
  const char* const method_;
  void goes_along(std::weak_ptr<http2_connection> which) noexcept {
    const std::lock_guard lock(mutex_);
    along_ = std::move(which);
  }

  mutable std::mutex mutex_;
  std::weak_ptr<http2_connection> along_;  // [mutex_]

  /// From one begin() to the end that follows it; the connection's mutex guards it.
  struct progress {
    std::string token{};      // of who has logged in
    std::string unsent{};     // messages, framed
    std::size_t sent = 0;     // bytes of them
    std::int32_t stream = 0;  // 0: not yet
    std::uint64_t begin = 0;  // where its bytes begin, counted from the connection's first
    bool begun = false;       // they were made
    instant due = instant::max();
    bool over = true;
    // What has come.
    message_reader in{};
    std::size_t fields = 0;  // bytes of them
    int http_status = 0;
    int code = -1;
    std::string words{};
  };
  progress now_;
};
using exchange_ptr = std::shared_ptr<exchange>;

}  // namespace interlock::inline v1::etcd_store
