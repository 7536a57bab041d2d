// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/error.hpp>
#include <interlock/options.hpp>
#include <interlock/token.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1 {

enum class lock_state : std::uint8_t {
  empty,     ///< default-made or moved from
  held,      ///< ours, and the last renewal was confirmed
  jeopardy,  ///< renewals are failing; the lease still stands
  lost,      ///< held, then not, without release
  released,  ///< let go of
};

enum class loss_reason : std::uint8_t {
  none,
  lapsed,       ///< no renewal got through before the lease ran out
  broken,       ///< somebody evicted this claim
  store_reset,  ///< the store forgot us: restart, fail-over, session gone
  overheld,     ///< max_hold was reached
  closed,       ///< client.close()
  forked,       ///< this is a child process; the parent still has it
};

std::string_view to_string(lock_state state) noexcept;
std::string_view to_string(loss_reason reason) noexcept;

/// One acquisition, as survey and evict know it. Public: knowing it does not let anyone release the lock.
class claim_id {
 public:
  constexpr claim_id() noexcept = default;
  explicit constexpr claim_id(const std::array<std::byte, 16>& bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] constexpr const std::array<std::byte, 16>& bytes() const noexcept { return bytes_; }
  /// 32 hexadecimal digits, and back.
  friend std::string to_string(const claim_id& id);
  static std::optional<claim_id> parse(std::string_view text) noexcept;

  friend bool operator==(const claim_id&, const claim_id&) = default;
  friend auto operator<=>(const claim_id&, const claim_id&) = default;

 private:
  std::array<std::byte, 16> bytes_{};
};
std::string to_string(const claim_id& id);

/// What a store has and promises, as found at connect.
struct store_traits {
  interlock::guarantee guarantee{};
  bool cells{};               ///< small values with versions
  bool convert{};             ///< upgrade and downgrade in place
  bool fifo{};                ///< waiters are served in order of arrival
  bool latches{};             ///< count-down latches
  bool permits{};             ///< semaphores
  bool push{};                ///< waiters are told, by the store or by one question for all of them; else each polls
  bool shared{};              ///< shared mode
  bool survey{};              ///< can list holders and waiters
  bool tokens{};              ///< grants carry fencing tokens
  std::string store{};        ///< "sqlite", "memory", ...
  std::string layout{};       ///< how locks are written there
  std::string caveat{};       ///< why it is not strict, in one sentence
  milliseconds tick{1};       ///< how coarsely the store counts leases
  milliseconds lease_min{1};  ///< shorter leases are refused
  milliseconds lease_max{milliseconds::max()};
  std::size_t name_max{1024};  ///< longer names are refused, in bytes
};

/// One thing about how a store is set up, good or bad, and what to change.
struct store_check {
  enum class verdict : std::uint8_t { ok, warn, fail };
  verdict is = verdict::ok;
  std::string check{};   ///< short and stable: scripts look for it
  std::string seen{};    ///< what was found
  std::string advice{};  ///< what to change; empty if nothing
};

struct claim_info {
  claim_id id{};
  lock_mode mode{};
  std::uint32_t permits = 1;
  std::optional<fencing_token> token{};  ///< waiters have none
  std::uint32_t tokens = 1;  ///< reserved from `token` on; which of them is in use only the holder's process knows
  std::string host{}, program{}, purpose{};
  std::int64_t pid{};
  milliseconds age{};         ///< since it was granted, or since it queued
  milliseconds lease_left{};  ///< until the store would end it without renewal; max(): never, another library's doing
};

/// Who has a lock and who waits for it. Already old when you read it.
struct lock_info {
  std::string name{};
  std::uint32_t limit = 1;  ///< permits in all; 1 for locks
  std::vector<claim_info> holders{}, waiters{};
};

enum class event_kind : std::uint8_t {
  acquired,
  gave_up,  ///< an acquisition ended without a grant; why says how
  released,
  release_failed,
  jeopardy,
  recovered,
  lost,
  connected,
  disconnected,
  events_dropped,  ///< the observer was too slow; count says how many
};
std::string_view to_string(event_kind kind) noexcept;

/// What the observer is told. The views live for the call.
struct event {
  event_kind kind{};
  std::string_view name{};
  claim_id id{};
  milliseconds took{};  ///< acquired, gave_up: waiting; released, lost: holding
  loss_reason loss{};
  std::uint64_t count{};
  const failure* why{};
};

/// Ends the callbacks when destroyed; waits for one that is running, as std::stop_callback does (unless it is running
/// on this very thread).
class [[nodiscard]] subscription {
 public:
  struct source {
    virtual ~source() = default;
    virtual void end() noexcept = 0;
  };

  subscription() noexcept = default;
  explicit subscription(std::shared_ptr<source> from) noexcept : source_(std::move(from)) {}
  subscription(subscription&&) noexcept = default;
  subscription& operator=(subscription&& other) noexcept {
    if (this != &other) {
      end();
      source_ = std::move(other.source_);
    }
    return *this;
  }
  ~subscription() { end(); }

 private:
  void end() noexcept {
    if (source_) source_->end();
    source_.reset();
  }
  std::shared_ptr<source> source_;
};

}  // namespace interlock::inline v1
