// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/link.hpp"

#include <interlock/clock.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace interlock::inline v1::etcd_store {

/// A lease of etcd's that many claims share. Losing it loses all of them.
struct session {
  lease_id id = 0;
  milliseconds ttl{};  ///< as granted
  instant renewed{};   ///< when the last confirmed renewal was sent
  bool dead = false;
  bool doubted = false;  ///< etcd said that a lease it was asked for is not there; ask about this one
};
using session_ptr = std::shared_ptr<session>;

/// The leases of one client, one per class of length: thousands of claims, few renewals. Nothing is renewed on its own:
/// whoever enters or looks sees to it that the lease lasts as long as the claim is believed in, and a lease that nobody
/// looks after ends.
///
/// Granted are whole seconds, one more than asked: so a renewal does for all that is asked within a second.
class sessions {
 public:
  sessions(std::shared_ptr<link> along, const time_source& time) : link_(std::move(along)), time_(time) {}

  /// The session for claims of this lease, made if there is none.
  void with(milliseconds lease, completion<session_ptr> then);
  /// One that is not renewed and lasts for about an hour: for notes that may be lost.
  void for_notes(completion<session_ptr> then) { with_seconds(0, std::move(then)); }
  /// The same, if there is one; else nothing.
  [[nodiscard]] session_ptr notes_at_hand();
  /// It lasts for `lease` from now on; false: it is over.
  void refresh(const session_ptr& one, milliseconds lease, completion<bool> then);
  /// etcd does not know one of these any more.
  void doubt(const session_ptr& one);
  void forget_notes();
  /// Ends all, with everything that belongs to them; waits for the answers, but not long.
  void close() noexcept;

 private:
  struct question {
    session_ptr about{};
    instant sent{};
    std::vector<completion<bool>> waiting{};
  };
  struct slot {
    session_ptr current{};
    std::vector<completion<session_ptr>> waiting{};
  };
  void with_seconds(std::int64_t seconds, completion<session_ptr> then);
  void granted(std::int64_t seconds, instant sent, result<granted_lease> got);
  void answered(const session_ptr& about, instant sent, result<std::int64_t> got);
  [[nodiscard]] bool usable(std::int64_t seconds, const session& one) const;

  std::shared_ptr<link> link_;
  const time_source& time_;
  std::mutex mutex_;
  std::map<std::int64_t, slot> slots_;  // by seconds; 0: for notes
  std::vector<question> asked_;
};

/// The class of a lease: few different ones, so that few are renewed.
std::int64_t seconds_for(milliseconds lease) noexcept;

}  // namespace interlock::inline v1::etcd_store
