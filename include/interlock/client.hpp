// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/guard.hpp>
#include <interlock/info.hpp>
#include <interlock/multi_guard.hpp>
#include <interlock/options.hpp>
#include <interlock/pending.hpp>
#include <interlock/result.hpp>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1 {

namespace detail {
class client_handle;
}

/// A connection to one store.
///
/// Copies are handles to the same connection; the last handle or guard closes it. All operations are const and may be
/// called from any thread: pass `const client&` or copy. Names are bytes, 1 to traits().name_max of them, without NUL
/// and control characters, valid UTF-8; they are copied before a call returns.
///
/// How a wait ends: `busy` only if the store's last word was that somebody else has it; after `patience` without any
/// word, `unavailable` or `indeterminate`, whether or not the wait is over. A queueing call survives a reconnection in
/// between.
///
/// After fork() the child's copies answer `closed`, its guards are not valid, and destructors touch nothing.
class client {
 public:
  /// Connects, looks at the store, checks `require`. Empty URL: $INTERLOCK_STORE, else the user's own SQLite file.
  /// "memory:" is private to this client; "memory:NAME" is shared inside the process. Throws lock_error.
  explicit client(std::string_view url = {}, client_options options = {});
  static result<client> connect(std::string_view url = {}, client_options options = {});

  /// Queues until it is ours, or throws lock_error (busy, if options.wait ran out).
  guard acquire(std::string_view name, acquire_options options = {}, std::stop_token stop = {}) const;
  /// Empty: busy, and only busy; anything else throws. Does not queue unless options.wait says so.
  [[nodiscard]] std::optional<guard> try_acquire(std::string_view name, acquire_options options = {},
                                                 std::stop_token stop = {}) const;
  /// acquire, not throwing for anything a store, a network or a clock did.
  result<guard> attempt(std::string_view name, acquire_options options = {}, std::stop_token stop = {}) const;

  /// Several at once: sorted, deduplicated, all or nothing; options.wait is for all of them together.
  multi_guard acquire_all(std::span<const wanted> names, acquire_options options = {}, std::stop_token stop = {}) const;
  multi_guard acquire_all(std::initializer_list<wanted> names, acquire_options options = {},
                          std::stop_token stop = {}) const;
  result<multi_guard> attempt_all(std::span<const wanted> names, acquire_options options = {},
                                  std::stop_token stop = {}) const;

  pending<guard> async_acquire(std::string_view name, acquire_options options = {}, std::stop_token stop = {}) const;
  pending<std::optional<guard>> async_try_acquire(std::string_view name, acquire_options options = {},
                                                  std::stop_token stop = {}) const;
  /// No initializer_list twin: g++ 12 rejects one inside co_await.
  pending<multi_guard> async_acquire_all(std::span<const wanted> names, acquire_options options = {},
                                         std::stop_token stop = {}) const;

  [[nodiscard]] const store_traits& traits() const noexcept;
  /// The store's address as it may be shown: without passwords.
  [[nodiscard]] const std::string& url() const noexcept;
  /// Throws lock_error. A name nobody holds or waits for has empty lists.
  [[nodiscard]] lock_info inspect(std::string_view name) const;
  /// All names that begin with prefix and have holders or waiters, sorted. Paged inside, so not one moment's picture.
  [[nodiscard]] std::vector<lock_info> survey(std::string_view prefix = {}) const;
  /// How the store is set up, as far as it can tell, and what to change. Throws lock_error.
  [[nodiscard]] std::vector<store_check> examine() const;
  /// Breaks exactly that claim: its holder is told, and the next one is granted when the broken lease is over.
  /// false: it was gone already.
  bool evict(std::string_view name, claim_id who) const;
  /// Like evict, but the claim ends now: until the holder has noticed, only the fencing token protects.
  bool evict_by_force(std::string_view name, claim_id who) const;
  /// Does that grant still stand? For servers handed a guard::sequencer() by a client of theirs. errc::unsupported
  /// where the store does not tell who has which token.
  [[nodiscard]] bool check(std::string_view sequencer) const;

  /// Hand over now: waiting calls end with cancelled, holds are released and lost() fires with loss_reason::closed.
  void close() const noexcept;

 private:
  friend class detail::client_handle;
  explicit client(std::shared_ptr<detail::client_handle> handle) noexcept : handle_(std::move(handle)) {}
  std::shared_ptr<detail::client_handle> handle_;
};

}  // namespace interlock::inline v1
