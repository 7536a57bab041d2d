// SPDX-License-Identifier: MIT
#pragma once

#include "support/redis_server.hpp"

#include "backends/redis/courier.hpp"
#include "backends/redis/layout.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace interlock::test_support {

/// A way to a server for tests of a layout: asks, and has the answer before it returns. To scripts that are carried by
/// it, the server's clock says what the test wants.
class clocked_courier final : public redis_store::courier {
 public:
  explicit clocked_courier(const redis_server& server);
  ~clocked_courier() override;
  clocked_courier(const clocked_courier&) = delete;
  clocked_courier& operator=(const clocked_courier&) = delete;

  void set_clock(std::chrono::microseconds since_1970);
  /// Hands in what was published until now.
  void deliver_news();

  result<void> open() override { return {}; }
  void deliver_to(redis_store::layout& reader) noexcept override { reader_ = &reader; }
  void send(const redis_store::packet& what, inline_work here, redis_store::reply_handler&& done) override;
  [[nodiscard]] std::size_t masters() const override { return 1; }
  void send_to(std::size_t, const redis_store::packet& what, redis_store::reply_handler done) override {
    send(what, inline_work::never, std::move(done));
  }
  void subscribe(std::string_view channel, redis_store::reply_handler done) override;
  void unsubscribe(std::string_view) override {}
  [[nodiscard]] redis_store::server_facts facts() const override { return {}; }
  [[nodiscard]] int borrow_news() noexcept override { return -1; }
  [[nodiscard]] bool read_news() noexcept override { return false; }
  void return_news(backend::loan_end) noexcept override {}
  void close() noexcept override {}

 private:
  const redis_store::script& with_own_clock(const redis_store::script& from);

  redis_peek control_, ears_;
  int fd_;
  bool listening_ = false;
  redis_store::layout* reader_ = nullptr;
  struct changed_script;
  std::map<const redis_store::script*, std::unique_ptr<changed_script>> changed_;
};

}  // namespace interlock::test_support
