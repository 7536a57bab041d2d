// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/http2_session.hpp"
#include "backends/etcd/settings.hpp"

#include "net/away.hpp"
#include "net/dial.hpp"
#include "net/gate.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace interlock::inline v1::etcd_store {

/// One connection to one member, from dialling to its end: never opened again. Many exchanges are under way on it at a
/// time, and what is said in one turn goes out together. A caller that waits for its answer may read for itself.
class http2_connection final : public std::enable_shared_from_this<http2_connection> {
 public:
  /// Called with no lock held but the reader's.
  class owner {
   public:
    virtual void up(http2_connection& which) noexcept = 0;
    /// It takes no more exchanges; those under way go on.
    virtual void leaving(http2_connection& which) noexcept = 0;
    /// It never came up, or was up and is not any more. Its exchanges have been told.
    virtual void down(http2_connection& which, const failure& why) noexcept = 0;

   protected:
    ~owner() = default;
  };

  http2_connection(endpoint where, std::shared_ptr<const etcd_settings> settings, reactor& loop,
                   const time_source& time, owner& of);
  http2_connection(const http2_connection&) = delete;
  http2_connection& operator=(const http2_connection&) = delete;
  ~http2_connection();

  /// Begins to connect.
  void start();
  /// With its first message, framed, which is taken; as soon as the connection is up. false: it takes no more.
  [[nodiscard]] bool begin(const exchange_ptr& what, std::string& message, const std::string& token, inline_work here);
  /// One more message in a stream. Nothing happens if it is over.
  void say(exchange& what, std::string_view message);
  /// Its end is told from the loop.
  void cancel(const exchange_ptr& what);
  /// Takes no more exchanges, and ends when those under way have.
  void retire();
  /// Exchanges under way are told before this returns, and nobody afterwards.
  void close() noexcept;

  // See backend. Whoever has borrowed it keeps it alive.
  [[nodiscard]] int borrow() noexcept;
  [[nodiscard]] bool read_borrowed() noexcept;
  [[nodiscard]] backend::arrival await_borrowed() noexcept;
  void give_back(backend::loan_end as) noexcept;

 private:
  enum class state : std::uint8_t { dialling, greeting, up, dead };

  // http2_connection_open.cpp
  [[nodiscard]] static result<net::established> dial(const endpoint& where, const etcd_settings& settings,
                                                     const std::atomic<bool>& cancelled);
  void dialled(result<net::established> made);
  void greeted();
  void look_after();

  // Sending.
  bool open(const exchange_ptr& what);
  enum class hurry : std::uint8_t { yes, no };
  void flush(hurry how);
  void send_in_time();
  void tell_later();

  // Receiving.
  enum class patience : std::uint8_t { none, some };
  void turn() noexcept;
  [[nodiscard]] backend::arrival read(patience with) noexcept;
  void take(std::string_view bytes);
  void tell(std::vector<http2_session::news>& all) noexcept;
  void attend() noexcept;

  // Deadlines and the end.
  void watch_deadline();
  void deadline() noexcept;
  [[nodiscard]] bool idle() const noexcept {
    return early_.empty() && left_.empty() && (!session_ || session_->idle());
  }
  [[nodiscard]] failure lost(const std::string& why) const;
  void drop(const failure& why) noexcept;

  const endpoint where_;
  const std::shared_ptr<const etcd_settings> settings_;
  reactor& loop_;
  const time_source& time_;
  owner& owner_;

  std::recursive_mutex reading_;  // one reader at a time, taken before mutex_; held while the owner or an exchange runs
  std::uint64_t answers_ = 0;     // told to questions
  bool left_told_ = false;        // the owner was told leaving()

  std::mutex mutex_;  // everything below
  state state_ = state::dialling;
  net::away<result<net::established>> away_;
  int socket_ = -1;
  std::unique_ptr<net::stream> bytes_;
  net::gate gate_;
  std::optional<http2_session> session_;
  std::deque<exchange_ptr> early_;         // until it is up
  std::deque<exchange_ptr> dues_;          // questions, the oldest first; also some that are over
  std::vector<http2_session::news> left_;  // to be told from the loop
  std::string out_;
  std::uint64_t flushed_ = 0;   // bytes in all
  std::size_t by_the_way_ = 0;  // bytes in out_ that nobody has asked for
  instant owed_since_{};        // an answer to a ping
  instant deadline_at_ = instant::max();
  bool leaving_ = false;
  bool corked_ = false;   // answers are being told: what they make us send goes out together afterwards
  bool in_time_ = false;  // a look after what is left unsent is due
  bool borrowed_ = false, attending_ = false, busy_ = false;
  bool heard_ = false;  // something has come since the last look
  bool asked_ = false;  // nothing had, and a ping was sent
};

}  // namespace interlock::inline v1::etcd_store
