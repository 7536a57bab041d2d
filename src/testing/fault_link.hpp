// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace interlock::inline v1::testing {

enum class request : std::uint8_t { enter, look, leave, convert, survey, evict, cell_read, cell_write };
inline constexpr std::size_t request_kinds = 8;

/// The way between one client and its store, as bad as a test wants it. All members may be called from any thread.
///
/// A lost request or reply is answered never, not even with an error: that is what a silent network does. After a cut,
/// heal() lets what vanished fail with `indeterminate`: now the connection is found to be broken.
class fault_link : public std::enable_shared_from_this<fault_link> {
 public:
  fault_link() = default;
  fault_link(const fault_link&) = delete;
  fault_link& operator=(const fault_link&) = delete;
  ~fault_link();

  /// Requests, replies and pushes vanish, and nobody is told.
  void cut();
  /// The connection is seen to be down: every request fails at once with `unavailable`.
  void refuse();
  /// As good as new.
  void heal();

  /// The next `count` requests of this kind do not reach the store.
  void lose_requests(request kind, unsigned count = 1);
  /// The next `count` requests of this kind are carried out, and the answers vanish.
  void lose_replies(request kind, unsigned count = 1);
  void delay_replies(request kind, milliseconds by, unsigned count = 1);
  /// The next enter sits in the network until let_late_enters_arrive(), behind whatever was sent after it.
  void hold_back_enters(unsigned count = 1);
  /// Likewise for changes of cells.
  void hold_back_cell_writes(unsigned count = 1);
  void let_late_enters_arrive();

  enum class pushes : std::uint8_t { pass, drop, repeat };
  void treat_pushes(pushes how);

  /// How many requests of this kind the client has sent, whatever became of them.
  [[nodiscard]] unsigned sent(request kind) const;
  /// Every claim the client ever entered, in order; a repeated enter is there again.
  struct entered_claim {
    std::string name{};
    claim_secret secret{};
    lock_mode mode{};
  };
  [[nodiscard]] std::vector<entered_claim> entered() const;
  /// Whom the store pushed a grant to, or told to look, dropped ones included.
  [[nodiscard]] std::vector<claim_secret> granted() const;
  [[nodiscard]] std::vector<claim_secret> told_to_look() const;
  /// The store's own backend, past all faults.
  [[nodiscard]] backend& store() const;

 private:
  friend class faulty_backend;
  friend class faulty_events;

  struct fate {
    enum class kind : std::uint8_t { deliver, refused, cut_off, request_lost, reply_lost, reply_late, held_back };
    kind is = kind::deliver;
    milliseconds late{0};
  };
  struct script {
    unsigned lose_requests = 0, lose_replies = 0, delays = 0, hold_back = 0, sent = 0;
    milliseconds late{0};
  };
  enum class state : std::uint8_t { up, cut, refusing };

  fate judge(request kind);
  [[nodiscard]] bool reply_vanishes() const;
  void note_enter(const claim& who);
  pushes note_push(const claim_secret* granted_to, const claim_secret* told);
  void bury(unique_function<void()> never_called);
  void strand(unique_function<void()> fail);
  void hold_back(unique_function<void()> send);
  void later(milliseconds by, unique_function<void()> work);
  void attach(backend* store, backend_events* events);
  /// No completion is called after this returned.
  void close() noexcept;
  void run_courier();

  mutable std::mutex mutex_;
  std::condition_variable news_;
  state state_ = state::up;
  pushes pushes_ = pushes::pass;
  bool closed_ = false;
  std::array<script, request_kinds> scripts_{};
  std::vector<entered_claim> entered_;
  std::vector<claim_secret> granted_, told_;
  std::vector<unique_function<void()>> buried_;
  std::vector<unique_function<void()>> stranded_;  // called by heal()
  std::vector<unique_function<void()>> held_back_;
  std::multimap<std::chrono::steady_clock::time_point, unique_function<void()>> due_;
  backend* store_ = nullptr;
  backend_events* events_ = nullptr;
  std::thread courier_;  // late replies; started by the first
};

}  // namespace interlock::inline v1::testing
