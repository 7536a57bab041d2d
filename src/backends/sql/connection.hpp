// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/session.hpp"
#include "core/brief_mutex.hpp"
#include "net/gate.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::sql {

/// Where a server is, for people, and how long one message may take.
struct place {
  std::string shown{};
  milliseconds timeout{2'000};
};

/// One session of a server, from where it is ready to its end. One message is under way at a time; what is asked
/// meanwhile goes together in the next one, in one transaction. So many callers share one commit, and questions about a
/// name are answered in the order they were asked, also where a message has to be repeated.
class connection final : public std::enable_shared_from_this<connection> {
 public:
  /// Whoever keeps the connection. Called with no lock held but that of reading.
  class owner {
   public:
    /// Its errands have been answered.
    virtual void down(connection& which, const failure& why) noexcept = 0;
    virtual void notified(std::string_view news) noexcept = 0;

   protected:
    ~owner() = default;
  };

  connection(std::unique_ptr<session> with, const place& at, reactor& loop, const time_source& time, owner& of);
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  void start();
  void submit(std::shared_ptr<errand> what, inline_work here);
  /// As if the server had closed it.
  void fail(const failure& why) noexcept;
  /// Neither the owner nor an errand is told anything after this returned, unless by this very thread.
  void close() noexcept;

  // See backend. Whoever has borrowed it keeps it alive.
  void flush_left() noexcept;
  [[nodiscard]] int borrow() noexcept;
  [[nodiscard]] bool read_borrowed() noexcept;
  [[nodiscard]] backend::arrival await_borrowed() noexcept;
  void give_back(backend::loan_end as) noexcept;

 private:
  /// Who takes an answer that the library has read while it was sending.
  enum class reader : std::uint8_t { asker /* who is about to borrow */, others };
  void launch(reader then = reader::others);
  void load(flight& with);
  void push(reader then = reader::others);
  using patience = session::patience;
  using message = std::unique_ptr<flight>;
  backend::arrival read(patience how) noexcept;
  [[nodiscard]] bool take(std::unique_lock<core::brief_mutex>& lock, patience how, message& landed,
                          std::vector<std::string>& news);
  void land(flight& one);
  void repeat(std::vector<parcel> again);
  void refuse(flight& one);
  void pause(unsigned tries);
  void turn() noexcept;
  void attend() noexcept;
  void watch_deadline();
  void deadline() noexcept;
  void drop(const failure& why, bool tell) noexcept;
  [[nodiscard]] failure lost(std::string_view why) const;

  const place& place_;
  reactor& loop_;
  const time_source& time_;
  owner& owner_;

  std::recursive_mutex reading_;    // one reader at a time, taken before mutex_; held while an owner or handler runs
  std::atomic<bool> muted_{false};  // close(): call nobody any more
  std::optional<failure> ending_;   // said by the server with an error
  message empty_;                   // one that has landed, for the next

  std::atomic<bool> at_hand_{false};  // the answer: it can be waited for in read(), or is there

  core::brief_mutex mutex_;  // everything below
  std::unique_ptr<session> with_;
  int socket_ = -1;  // our own descriptor of it: a client library closes its one when it sees the end
  net::gate gate_;
  bool dead_ = false;
  std::deque<parcel> waiting_;
  message under_way_;  // until it has landed, the session is with whoever has reading_
  message spare_;
  bool paused_ = false;
  bool posted_ = false;   // a launch on the loop
  bool in_time_ = false;  // a look after what callers left unsent is due
  bool borrowed_ = false;
  bool attending_ = false;  // a look after the gate is due
  bool busy_ = false;       // borrowed since the last one
  instant deadline_at_ = instant::max();
};

}  // namespace interlock::inline v1::sql
