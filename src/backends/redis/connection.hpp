// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/courier.hpp"
#include "backends/redis/outbox.hpp"

#include "core/brief_mutex.hpp"
#include "core/reentrant_mutex.hpp"
#include "net/name_lookup.hpp"
#include "net/stream.hpp"

#include <interlock/backend.hpp>

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Where a server listens: a host and a port, or the path of a unix socket.
struct endpoint {
  std::string host{};
  std::uint16_t port = 6379;
  std::string path{};
  [[nodiscard]] std::string shown() const;
  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// What all connections of a client have in common.
struct connection_settings {
  std::string user{};
  std::function<std::string()> password{};  ///< asked at every connection
  std::int64_t database = 0;
  int protocol = 3;                         ///< 2 or 3; 3 falls back to 2 if the server is too old for it
  std::shared_ptr<net::tls_context> tls{};  ///< unset: no TLS
  milliseconds timeout{2'000};              ///< of one request
  milliseconds connect_timeout{5'000};      ///< until it can be used, greetings included
  bool replica_is_fine = false;             ///< otherwise a server that says it is one is refused
};

/// One connection, from its first packet to its last: never opened again. Many requests are under way on it at a time;
/// replies come in order. Whoever has something to send while nothing is in its way writes to the socket itself; what
/// comes together is sent together, one post later.
class connection final : public std::enable_shared_from_this<connection> {
 public:
  /// Whoever keeps the connection. Called with no lock held.
  class owner {
   public:
    virtual void up(connection& which, const server_facts& found) noexcept = 0;
    /// It failed to come up, or was up and is not any more. Its requests have been answered.
    virtual void down(connection& which, const failure& why) noexcept = 0;
    virtual void pushed(connection& which, reply what) noexcept = 0;
    /// The server answered with an error. true: the owner takes the request over, and with it the duty to answer.
    struct refusal {
      std::string_view error{};
      std::string_view request{};
      const script* called = nullptr;
      unsigned hops = 0;  ///< how often it was sent elsewhere before
    };
    virtual bool refused(connection& which, const refusal& what, reply_handler& done) noexcept = 0;
    /// Around the answers to one bundle.
    virtual void answers_begin() noexcept {}
    virtual void answers_end() noexcept {}

   protected:
    ~owner() = default;
  };

  /// Has a mutex of its own unless it is given its owner's, to be locked once for both by requests that are passed on.
  connection(endpoint where, const connection_settings& settings, reactor& loop, const time_source& time, owner& of,
             std::shared_ptr<core::brief_mutex> mutex = std::make_shared<core::brief_mutex>());
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  /// Begins to connect; up() or down() follows.
  void open();
  /// Connections of ours to the same server that broke, as far as it is known. What they were sent may still lie in the
  /// server's buffers, and must not be carried out behind what is sent from now on: so it is told to end them first.
  class forerunners {
   public:
    void add(const server_facts& was_up);
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    [[nodiscard]] const std::vector<std::int64_t>& clients() const noexcept { return clients_; }

   private:
    std::string run_id_;
    std::vector<std::int64_t> clients_;
  };
  /// To be said before open().
  void follow(const forerunners& whom) { forerunners_ = whom; }
  /// Fails what is under way. Neither the owner nor a handler is called after this returned, unless by this very
  /// thread.
  void close() noexcept;
  /// As if the server had closed it.
  void fail(const failure& why) noexcept;

  void send(const packet& what, inline_work here, reply_handler&& done) {
    if (!accept(what, here, done)) refuse(done);
  }
  /// The same, unless it is not up: false, and `done` is the caller's still.
  [[nodiscard]] bool accept(const packet& what, inline_work here, reply_handler& done) {
    return accept(order_of(what), here, done);
  }
  void send(std::string_view request, const script* called, inline_work here, reply_handler&& done) {
    send({.bytes = request, .called = called}, here, std::move(done));
  }
  struct order {
    std::string_view bytes{};
    const script* called = nullptr;
    unsigned hops = 0;
    std::string_view first{};  ///< to go out immediately before it (ASKING)
    part_of_bundle part{};     ///< for owners that never take a request over
  };
  void send(const order& what, inline_work here, reply_handler&& done) {
    if (!accept(what, here, done)) refuse(done);
  }

  /// [mutex] For an owner that has it: accepted, unless there is nothing; then() has the rest, once it is unlocked.
  enum class afterwards : std::uint8_t { nothing, post_flush, send_in_time, fetch_answer };
  [[nodiscard]] std::optional<afterwards> accept_locked(const packet& what, inline_work here, reply_handler& done) {
    if (fetches(here) && is_up() && exchanges(what, here, done)) return afterwards::fetch_answer;
    return accept_locked(order_of(what), here, done);
  }
  [[nodiscard]] std::optional<afterwards> accept_locked(const short_call& what, inline_work here, reply_handler& done);
  void then(afterwards what) {
    if (what == afterwards::fetch_answer) return finish_exchange();
    if (what == afterwards::post_flush) post_flush();
    if (what == afterwards::send_in_time) send_in_time();
  }

  /// SUBSCRIBE and the like, whose answer is a push; on a RESP2 connection, nothing else may be sent afterwards.
  void send_for_push(const packet& what, reply_handler done) { listen(what, std::move(done), false); }
  /// SUNSUBSCRIBE. It is answered by a push, or by an error if the slot has gone; and when a slot goes, the server says
  /// that push unasked, perhaps just before the error. So a question is sent behind it, and what is no answer to that
  /// belongs to the one before.
  void leave_shard(std::string_view channel) {
    listen(
        packet({"SUNSUBSCRIBE", channel}), [](const result<reply>&) {}, true);
  }

  [[nodiscard]] const endpoint& where() const noexcept { return where_; }
  [[nodiscard]] bool is_up() const noexcept { return state_.load(std::memory_order_acquire) == state::up; }
  [[nodiscard]] server_facts facts() const;

  // See backend. Whoever has borrowed it keeps it alive.
  void flush_left() noexcept;
  [[nodiscard]] int borrow_locked() noexcept;  // [mutex]
  /// false: it has ended; nothing more will come.
  [[nodiscard]] bool read_borrowed() noexcept;
  [[nodiscard]] backend::arrival await_borrowed() noexcept;
  [[nodiscard]] bool awaits_answer() noexcept;
  void give_back(backend::loan_end as) noexcept;

 private:
  static constexpr std::size_t few = 4;          // under way: one more may be written at once
  static constexpr milliseconds unsent_most{2};  // what a caller was to send is then sent by the loop
  enum class state : std::uint8_t { idle, connecting, shaking_hands, greeting, up, dead };

  // connection_open.cpp
  void resolved(const result<std::vector<std::string>>& addresses);
  void try_address();
  void adopt(int made);
  void turn() noexcept;
  void connected();
  void shake_hands();
  void say(const packet& what, reply_handler done);
  void greet();
  void greeted(const result<reply>& hello);
  void check_role(const result<reply>& info);
  void learn(const result<reply>& info);
  void end_forerunners();
  static bool is_too_old(std::string_view error);
  [[nodiscard]] failure replica_failure() const;

  // connection.cpp
  static order order_of(const packet& what) noexcept {
    return {.bytes = what.bytes(), .called = what.called(), .part = what.part()};
  }
  bool accept(const order& what, inline_work here, reply_handler& done);
  [[nodiscard]] std::optional<afterwards> accept_locked(const order& what, inline_work here, reply_handler& done);
  // [mutex_] What is left to be sent together is counted from the first of it: the clock is not read for each.
  [[nodiscard]] instant time_of_asking() const { return left_ ? out_.back().sent : time_.now(); }
  [[nodiscard]] static bool fetches(inline_work here) noexcept {
    return here == inline_work::with_answer || here == inline_work::with_answer_soon;
  }
  [[nodiscard]] bool goes_at_once(inline_work here) const noexcept {
    return (here == inline_work::if_brief || fetches(here)) && out_.size() < few && !corked_ && !flush_posted_;
  }
  void push_first(std::string_view bytes, instant now, reply_handler& done);
  [[nodiscard]] afterwards accepted(inline_work here, bool at_once);
  void refuse(reply_handler& done) const;
  enum class reading : std::uint8_t { once, all, soon /* waits for it, once */ };
  bool read(reading how) noexcept;
  bool take_replies();
  void answer(reply what);
  [[nodiscard]] outbox::pointer asked(std::string_view& bytes);
  void answer_bundle(reply what, std::string_view bytes);
  void flush() noexcept;
  void flush_locked() noexcept;
  void post_flush();
  [[nodiscard]] bool leave_unsent();
  [[nodiscard]] bool worth_a_packet() noexcept;
  void send_in_time();
  void flush_and_listen() noexcept;
  void watch_in(unsigned events) noexcept {
    if (borrowed_) events &= ~unsigned{EPOLLIN};
    if (events != watched_ && gate_ >= 0) [[unlikely]]
      let_through(events);
  }
  void let_through(unsigned events) noexcept;
  void watch_deadline() { watch_deadline(is_up() ? out_.front().sent + settings_.timeout : give_up_); }
  void watch_deadline(instant first) {
    if (const auto due = first + milliseconds{1}; deadline_at_ > due) [[unlikely]]
      call_deadline_at(due);
  }
  void call_deadline_at(instant due);
  void deadline() noexcept;
  void drop(const failure& why, bool tell) noexcept;
  [[nodiscard]] failure lost(std::string_view why) const;
  [[nodiscard]] failure why_ended() const;
  void wake_reader(const failure& why) noexcept;

  // connection_messages.cpp
  void listen(const packet& what, reply_handler done, bool fenced);
  void answer_push(reply what);
  [[nodiscard]] bool is_stray(std::string_view error) const;

  // connection_exchange.cpp
  [[nodiscard]] inline bool may_exchange(const script* called) noexcept;
  [[nodiscard]] bool exchanges(const packet& what, inline_work here, reply_handler& done);
  [[nodiscard]] bool exchanges(const short_call& what, inline_work here, reply_handler& done);
  [[nodiscard]] bool begin_exchange(std::string_view bytes, const script* called, inline_work here,
                                    reply_handler& done);
  void finish_exchange() noexcept;
  // [mutex_] It goes on as one of the requests that were sent.
  void leave_exchange() {
    if (exchange_.done != nullptr) [[unlikely]]
      give_up_exchange();
  }
  void give_up_exchange();

  // connection_lending.cpp
  void attend() noexcept;
  void leave_gate() noexcept;

  const endpoint where_;
  const connection_settings& settings_;
  reactor& loop_;
  const time_source& time_;
  owner& owner_;

  core::reentrant_mutex reading_;  // one reader at a time, taken before mutex_; held while the owner or a handler runs
  net::name_lookup lookup_;
  std::vector<std::string> addresses_;  // to be tried
  std::size_t next_address_ = 0;
  std::string last_wrong_;  // why the last one failed
  bool old_ = false;        // it does not know HELLO
  forerunners forerunners_;
  reply_parser parser_;
  std::vector<char> in_;
  std::size_t in_used_ = 0;
  std::vector<outbox::pointer> bundle_;    // being answered
  std::vector<outbox::pointer> answered_;  // for the outbox to use again
  std::atomic<bool> muted_{false};         // close(): call nobody any more

  const std::shared_ptr<core::brief_mutex> kept_mutex_;
  core::brief_mutex& mutex_;  // everything below
  std::atomic<state> state_{state::idle};
  instant give_up_{};  // connecting
  int socket_ = -1;
  int gate_ = -1;  // an epoll instance with nothing but the socket in it: shut without telling the loop
  subscription watch_;
  std::unique_ptr<net::stream> stream_;
  server_facts facts_;
  outbox out_;
  /// A question past the outbox: whoever asked it, while nothing else was under way, waits for the answer in its read.
  struct {
    reply_handler* done = nullptr;  // the asker's; nullptr: there is none
    std::string_view bytes{};       // the asker's, or text
    const script* called = nullptr;
    std::size_t written = 0;  // so many of the bytes
    instant sent{};
    bool soon = false;  // the asker must not be kept for long
    command_text text{};
  } exchange_;
  unsigned watched_ = 0;  // what the gate lets through
  bool in_gate_ = false;  // the socket is in it
  bool corked_ = false;   // replies are being handled: what they make us send goes out together afterwards
  bool flush_posted_ = false;
  bool same_host_ = false;                        // the server is on this host
  std::uint64_t kept_whole_ = ~std::uint64_t{0};  // what is sent from here on goes in one piece
  bool left_ = false;                             // a caller is to send the rest together with what it asks next
  bool in_time_ = false;                          // a look after what callers left unsent is due
  instant deadline_at_ = instant::max();          // when the timer in force fires
  std::atomic<bool> listening_ = false;           // has subscribed to something; read without the lock
  std::optional<failure> doom_;                   // why it is being ended, if that was our doing
  bool borrowed_ = false;
  bool attending_ = false;  // a look after the gate is due
  bool busy_ = false;       // borrowed since the last one
};

}  // namespace interlock::inline v1::redis_store
