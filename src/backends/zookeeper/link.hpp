// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/jute.hpp"

#include "net/name_lookup.hpp"
#include "net/stream.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::zookeeper_store {

struct endpoint {
  std::string host{};
  std::uint16_t port = 2181;
  [[nodiscard]] std::string shown() const;
};

/// The views live for the call.
struct answer {
  int error = 0;  ///< see `code`
  reader body{};
};
using answer_handler = unique_function<void(answer), 8>;

/// Which requests may be made one with others that go out at the same time: servers take many changes in one for little
/// more than one by itself. Requests about the same node keep their order.
enum class together : std::uint8_t { never, change /* makes or removes a node */, list };

struct watch_event {
  enum class kind : std::int32_t { other = -1, created = 1, deleted = 2, changed = 3, children = 4 };
  kind is = kind::other;
  std::string_view path{};
};

/// One connection to one server, from its first byte to its last: never opened again. Many requests are under way on it
/// at a time; answers come in order. Whoever has something to send while little is under way writes to the socket
/// itself; what comes together is sent together.
///
/// The owner's mutex may be held while calling it, except for open(), fail() and close(): those wait for a reader, who
/// may want that mutex.
class link final : public std::enable_shared_from_this<link> {
 public:
  /// Called with no lock of the owner held.
  class owner {
   public:
    /// The server has answered the greeting. The owner says accept(), or fails the link.
    virtual void greeted(link& which, reader greeting) noexcept = 0;
    /// It never came up, or was up and is not any more. Its requests have been answered.
    virtual void ended(link& which, const failure& why) noexcept = 0;
    virtual void watched(link& which, const watch_event& what) noexcept = 0;
    virtual void ponged(link& which, instant asked) noexcept = 0;
    virtual void authenticated(link& which, int error) noexcept = 0;

   protected:
    ~owner() = default;
  };

  /// Without `tls`: in the clear.
  link(endpoint where, std::shared_ptr<net::tls_context> tls, reactor& loop, const time_source& time, owner& of);
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link();

  void open(std::string greeting);
  void accept() noexcept { state_.store(state::up, std::memory_order_release); }
  /// As if the server had closed it.
  void fail(const failure& why) noexcept;
  /// Nobody is called any more after this returned, unless by this very thread. With a farewell: says it, and waits a
  /// little for the server to have heard it.
  void close(std::string_view farewell) noexcept;

  /// When to send: at once, as a backend is told, or with whatever is sent next, which the caller sees to.
  using sending = std::optional<inline_work>;
  static constexpr sending with_the_next{};
  /// false: it is not up, and the handler is gone uncalled.
  bool send(std::string request, sending when, answer_handler done, together as = together::never);
  void ping();
  void say_credentials(std::string_view packet);

  [[nodiscard]] bool is_up() const noexcept { return state_.load(std::memory_order_acquire) == state::up; }
  [[nodiscard]] const endpoint& where() const noexcept { return where_; }
  /// When the oldest unanswered thing was asked; max(): nothing is under way.
  [[nodiscard]] instant oldest() const;
  [[nodiscard]] instant last_sent() const;
  [[nodiscard]] std::int64_t last_change() const noexcept { return last_change_.load(); }

  // See backend.
  void flush_left() noexcept;
  [[nodiscard]] int borrow() noexcept;
  [[nodiscard]] bool read_borrowed() noexcept;
  [[nodiscard]] backend::arrival await_borrowed() noexcept;
  void give_back(backend::loan_end as) noexcept;

 private:
  enum class state : std::uint8_t { idle, connecting, shaking_hands, greeting, up, dead };
  struct request {
    instant sent{};
    std::uint64_t begin = 0;  // where its bytes begin, counted from the link's first
    std::int32_t number = 0;
    answer_handler done{};
  };
  struct outgoing {
    std::string body{};
    together as = together::never;
    answer_handler done{};
  };
  struct flight;

  // link_open.cpp
  void resolved(const result<std::vector<std::string>>& addresses);
  void try_address();
  void adopt(int made);
  void turn() noexcept;
  void connected();
  void shake_hands();
  void greet();

  // link.cpp
  bool read(bool soon) noexcept;
  bool take_frames();
  void take(std::string_view frame);
  void put(std::int32_t number, std::string_view body);
  void flush() noexcept;
  void flush_locked() noexcept;
  void post_flush();
  void flush_and_listen() noexcept;
  void watch_in(unsigned events) noexcept;
  void attend() noexcept;
  void drop(const failure& why, bool tell) noexcept;
  void say_farewell(std::string_view farewell) noexcept;
  [[nodiscard]] failure lost(std::string_view why) const;
  [[nodiscard]] bool idle() const noexcept { return asked_.empty() && pings_.empty() && gathered_.empty(); }

  // flight.cpp
  void assemble();
  [[nodiscard]] std::size_t run_at(std::size_t first) const;
  void ask(std::string_view body, answer_handler done);
  void launch(std::span<outgoing> items);
  void changed(const std::shared_ptr<flight>& with, answer got);
  void listed(const std::shared_ptr<flight>& with, answer got);
  void landed(flight& with);

  const endpoint where_;
  const std::shared_ptr<net::tls_context> tls_;
  reactor& loop_;
  const time_source& time_;
  owner& owner_;
  std::string greeting_;

  std::recursive_mutex reading_;  // one reader at a time, taken before any other; held while the owner runs
  net::name_lookup lookup_;
  std::vector<std::string> addresses_;
  std::size_t next_address_ = 0;
  std::string last_wrong_;
  std::vector<char> in_;
  std::size_t in_used_ = 0;
  std::atomic<bool> muted_{false};
  std::atomic<std::int64_t> last_change_{0};

  mutable std::mutex mutex_;  // everything below
  std::atomic<state> state_{state::idle};
  int socket_ = -1;
  std::unique_ptr<net::stream> stream_;  // made once, by whoever has the other mutex
  int gate_ = -1;  // an epoll instance with nothing but the socket in it: shut without telling the loop
  subscription watch_;
  std::vector<outgoing> gathered_;  // not yet in out_
  bool in_flight_ = false;          // what was made one is under way: the others wait, to keep their order
  unsigned apart_ = 0;              // so many changes are not made one with others
  bool lists_apart_ = false;        // the server is too old for several lists in one request
  std::string out_;
  std::size_t out_sent_ = 0;    // of out_
  std::uint64_t out_base_ = 0;  // where out_ begins
  std::deque<request> asked_;
  std::deque<instant> pings_;
  std::int32_t last_number_ = 0;
  instant last_sent_{};
  unsigned watched_ = 0;
  bool corked_ = false;  // answers are being handled: what they make us send goes out together afterwards
  bool flush_posted_ = false;
  bool in_time_ = false;
  bool borrowed_ = false;
  bool attending_ = false;
  bool busy_ = false;
};

}  // namespace interlock::inline v1::zookeeper_store
