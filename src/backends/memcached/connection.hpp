// SPDX-License-Identifier: MIT
#pragma once

#include "backends/memcached/dial.hpp"
#include "backends/memcached/meta.hpp"
#include "net/gate.hpp"
#include "net/ring.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace interlock::inline v1::memcached_store {

/// As many as the request has commands.
using replies = std::span<const meta_reply>;
/// Given the replies, which last until it returns, or why there are none: `unavailable` if it certainly was not carried
/// out, `indeterminate` if it may have been. Has room for a claim and who asked about it.
using replies_handler = unique_function<void(result<replies>), 24>;

/// One connection, from where dial has left it to its end. Many requests are under way at a time; replies come in
/// order.
class connection final : public std::enable_shared_from_this<connection> {
 public:
  class owner {
   public:
    /// Its requests have been answered.
    virtual void down(connection& which, const failure& why) noexcept = 0;

   protected:
    ~owner() = default;
  };

  connection(established with, const memcached_settings& settings, reactor& loop, const time_source& time, owner& of);
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  void start();
  static constexpr std::size_t most_commands = 4;  ///< in one request
  void send(std::string_view commands, std::size_t count, inline_work here, replies_handler done);
  /// As if the server had closed it.
  void fail(const failure& why) noexcept;
  /// Neither the owner nor a handler is called after this returned, unless by this very thread.
  void close() noexcept;

  // See backend. Whoever has borrowed it keeps it alive.
  void flush_left() noexcept;
  [[nodiscard]] int borrow() noexcept;
  [[nodiscard]] bool read_borrowed() noexcept;
  [[nodiscard]] backend::arrival await_borrowed() noexcept;
  void give_back(backend::loan_end as) noexcept;

 private:
  struct request {
    std::size_t count = 0;
    std::size_t begin = 0;  // where its bytes begin, counted from the connection's first
    instant sent{};
    replies_handler done{};
  };

  void flush();
  enum class patience : std::uint8_t { none, some };
  [[nodiscard]] backend::arrival read(patience with) noexcept;
  [[nodiscard]] bool take();
  [[nodiscard]] meta_parse::outcome next(request& asked, std::span<meta_reply> said, std::size_t& at);
  void turn() noexcept;
  void attend() noexcept;
  void watch_deadline();
  void deadline() noexcept;
  void drop(const failure& why, bool tell) noexcept;

  const memcached_settings& settings_;
  reactor& loop_;
  const time_source& time_;
  owner& owner_;

  std::recursive_mutex reading_;    // one reader at a time, taken before mutex_; held while a handler runs
  std::atomic<bool> muted_{false};  // close(): call nobody any more
  std::vector<char> in_;
  std::size_t in_used_ = 0;  // received and not yet understood

  std::mutex mutex_;  // everything below
  const int socket_;
  const std::unique_ptr<net::stream> bytes_;
  net::gate gate_;
  bool dead_ = false;
  net::ring<request> under_way_;
  std::string out_;
  std::size_t written_ = 0, flushed_ = 0;  // bytes in all
  bool corked_ = false;  // replies are being handled: what they make us send goes out together afterwards
  bool posted_ = false;
  bool in_time_ = false;  // a look after what callers left unsent is due
  bool borrowed_ = false, attending_ = false, busy_ = false;
  instant deadline_at_ = instant::max();
};

}  // namespace interlock::inline v1::memcached_store
