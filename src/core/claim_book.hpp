// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace interlock::inline v1::core {

/// Who made a claim and how to reach them; the same object for every claim of a client.
struct claim_source {
  claim_origin origin;
  virtual ~claim_source() = default;
};

/// One claim as the book of its name has it.
struct book_claim {
  enum class state : std::uint8_t { waiting, held, tomb /* keeps a late enter, or a revival, from taking effect */ };
  enum class change : std::uint8_t { none, added, altered };

  claim_secret secret{};
  std::uint64_t seq = 0;  ///< order of arrival, unique among the claims in the book
  state is = state::waiting;
  lock_mode mode = lock_mode::exclusive;
  bool evicted = false;
  bool upgrading = false;  ///< a shared holder that waits to become exclusive
  std::uint32_t weight = 0;
  std::uint32_t tokens = 1;  ///< waiting: how many to reserve at the grant; held: how many are
  std::uint64_t token = 0;   ///< held: first of its reserved tokens
  instant ends{};            ///< the one lease, waiting or held; a grant does not move it
  instant since{};           ///< granted, or queued
  std::shared_ptr<const claim_source> from{};
  change unsaved = change::none;
};

/// News for a claimant, to be delivered after the book's change is safe.
struct book_news {
  enum class kind : std::uint8_t { granted, evicted };
  kind is = kind::granted;
  claim_secret whom{};
  std::uint64_t seq = 0;
  standing as{};
  std::shared_ptr<const claim_source> to{};
};

/// All that a store knows about one name, and the rules by which claims on it are granted. Pure: the time is an
/// argument, news is returned. The memory store keeps books; the SQLite store reads one, changes it and writes it back.
///
/// Rules that must not be broken:
/// - a claim ends when its lease is *strictly* past: `ends < now`, else two holders share an instant;
/// - the queue is served in order of arrival, and only its longest prefix that fits;
/// - `enter` creates, `look` never does: what ended stays ended;
/// - tokens only rise, over everything that can happen to the claims.
class claim_book {
 public:
  using news = std::vector<book_news>;

  result<standing> enter(const claim& who, entry how, std::shared_ptr<const claim_source> from, instant now, news& out);
  standing look(const claim& who, instant now, news& out);
  departure leave(const claim& who, finality how, instant now, news& out);
  result<standing> convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, instant now, news& out);
  bool evict(const claim_id& who, bool force, instant now, news& out);
  /// Removes a claim whose claimant is known to be dead before it could make use of a grant.
  void discard(std::uint64_t seq, instant now, news& out);

  /// Holders and waiters, in order; expired ones are left out. Changes nothing.
  [[nodiscard]] lock_info describe(std::string_view name, instant now) const;
  /// Nobody holds, waits or is remembered.
  [[nodiscard]] bool idle() const noexcept { return claims_.empty(); }

  // What a store that keeps books elsewhere reads and writes.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::uint64_t token() const noexcept { return token_; }
  [[nodiscard]] std::uint64_t last_seq() const noexcept { return seq_; }
  [[nodiscard]] std::vector<book_claim>& claims() noexcept { return claims_; }
  [[nodiscard]] const std::vector<std::uint64_t>& removed() const noexcept { return removed_; }
  /// Back to an empty book that goes on counting from here. Keeps its memory.
  void reset(std::uint32_t capacity, std::uint64_t token, std::uint64_t last_seq) noexcept;
  /// The next grant's token is above this.
  void raise_token(std::uint64_t floor) noexcept;
  /// The next arrival's number is above this.
  void raise_seq(std::uint64_t floor) noexcept;

 private:
  book_claim* find(const claim_secret& secret) noexcept;
  void settle(instant now, news& out);
  void drop_expired(instant now);
  void grant(book_claim& who, instant now);
  void tell(const book_claim& who, news& out) const;
  void erase(book_claim& who);
  void bury(const claim& who, instant now);
  void reserve(book_claim& who, std::uint32_t count) noexcept;
  [[nodiscard]] standing answer(const book_claim& who, instant now) const;
  [[nodiscard]] std::uint64_t used() const noexcept;
  [[nodiscard]] std::uint32_t queued() const noexcept;
  [[nodiscard]] bool blocked(std::uint32_t weight) const noexcept;
  [[nodiscard]] milliseconds first_expiry(instant now, std::uint64_t ahead_of) const noexcept;
  [[nodiscard]] bool live() const noexcept;

  std::uint32_t capacity_ = lock_capacity;
  std::uint64_t token_ = 0;
  std::uint64_t seq_ = 0;
  std::vector<book_claim> claims_;      // by seq
  std::vector<std::uint64_t> removed_;  // since reset, for stores that write changes back
};

/// How long a tombstone must outlive the enter it stops.
inline constexpr milliseconds tomb_time{60'000};

}  // namespace interlock::inline v1::core
