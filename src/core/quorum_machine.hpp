// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <optional>

namespace interlock::inline v1::core {

inline constexpr unsigned most_nodes = 16;

/// Some of the nodes: bit i is node i.
class node_set {
 public:
  constexpr node_set() noexcept = default;
  static constexpr node_set one(unsigned node) noexcept { return node_set(std::uint32_t{1} << node); }
  static constexpr node_set first(unsigned count) noexcept { return node_set((std::uint32_t{1} << count) - 1); }

  [[nodiscard]] constexpr bool has(unsigned node) const noexcept { return (bits_ >> node & 1) != 0; }
  [[nodiscard]] constexpr unsigned size() const noexcept { return static_cast<unsigned>(std::popcount(bits_)); }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  friend constexpr node_set operator|(node_set a, node_set b) noexcept { return node_set(a.bits_ | b.bits_); }
  friend constexpr node_set operator&(node_set a, node_set b) noexcept { return node_set(a.bits_ & b.bits_); }
  friend constexpr node_set operator-(node_set a, node_set b) noexcept { return node_set(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(node_set, node_set) = default;
  constexpr node_set& operator|=(node_set other) noexcept { return *this = *this | other; }
  constexpr node_set& operator-=(node_set other) noexcept { return *this = *this - other; }

 private:
  explicit constexpr node_set(std::uint32_t bits) noexcept : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

/// Claims on several independent stores, so many of which must agree.
struct quorum_rules {
  unsigned nodes = 5;
  unsigned needed = 3;
  std::int64_t drift_percent = 1;  ///< how wrong the nodes' clock rates may be
  milliseconds drift_extra{2};     ///< and how coarsely they count
  milliseconds patience{0};        ///< a node that says nothing for so long has not voted; 0: a tenth of the lease
  bool in_order = false;           ///< who waits asks one node after the other, so that votes are never split
  bool tokens = true;              ///< the largest token of a majority is written back to a majority

  /// How many nodes must agree to a claim on a name of this capacity. Each node lets `capacity` in. Were a majority
  /// enough for a semaphore, more holders than permits could each find one: so many must agree that n + 1 permits need
  /// more room than all nodes together have.
  [[nodiscard]] unsigned needed_for(std::uint32_t capacity) const noexcept;
  /// Until when a claim is valid that was asked for at `sent`, before the first node was.
  [[nodiscard]] instant valid_until(instant sent, milliseconds lease) const noexcept;
  [[nodiscard]] milliseconds patience_for(milliseconds lease) const noexcept;
};

/// What one node said about a claim, or that it said nothing.
struct node_vote {
  enum class kind : std::uint8_t {
    yes,      ///< held there: token, tokens
    place,    ///< waits there: left, ahead
    busy,     ///< somebody else has it there: left
    gone,     ///< it was left for good, or its wait ran out
    evicted,  ///< an administrator ended it
    refused,  ///< it can never be: asking again does not help
    absent,   ///< it could not be asked, and certainly has nothing of ours because of this
    silent,   ///< asked, and no answer: it may have been carried out
  };
  kind is = kind::silent;
  std::uint64_t token = 0;
  std::uint32_t tokens = 0;
  std::uint32_t ahead = 0;
  milliseconds left{0};  ///< until its holder's lease is over; 0: unknown
};

/// Counts answers to a renewal: so many must say yes; enough others make it impossible.
class quorum_tally {
 public:
  enum class verdict : std::uint8_t { open, held, waiting, gone, evicted, unknown };
  quorum_tally(unsigned nodes, unsigned needed) noexcept
      : open_(node_set::first(nodes)), nodes_(nodes), needed_(needed) {}
  verdict cast(unsigned node, node_vote::kind vote) noexcept;
  /// Whoever has not answered yet does not count any more.
  verdict close() noexcept;
  [[nodiscard]] node_set yes() const noexcept { return yes_; }

 private:
  [[nodiscard]] verdict count() const noexcept;
  node_set open_, yes_, place_, no_;
  unsigned nodes_, needed_;
  bool evicted_ = false;
};

/// The life of one claim on N nodes, q of which must agree. Pure: the time and what happened go in, what to do next
/// comes out.
///
///     quorum_machine m(rules, rules.needed);
///     auto next = m.ask(t0, entry::queue, 30s);          // next.enter: every node, at once
///     next = m.voted(2, m.round(), t1, yes);             // until the q-th yes: nothing, or next.say
///
/// Nodes are asked all at once. The q-th yes decides; what comes later is not waited for. If it cannot be won, the
/// votes that were given are given back, everywhere where there may be one, and it is tried again after a pause that
/// grows and is random, so that votes that were split between several do not stay so.
class quorum_machine {
 public:
  enum class phase : std::uint8_t {
    idle,     ///< nothing was asked yet, or too few nodes answered
    asking,   ///< votes are coming in
    raising,  ///< won; the token is being written back
    waiting,  ///< the last round was lost
    held,
    leaving,
    over,
  };
  struct verdict {
    enum class kind : std::uint8_t { held, waiting, busy, gone, evicted, refused, late, unavailable, indeterminate };
    kind is = kind::unavailable;
    std::uint64_t token = 0;
    std::uint32_t tokens = 0;
    milliseconds look_again_in{0};
    unsigned node = 0;  ///< refused: who said so
  };
  struct step {
    node_set enter{}, raise{}, leave{}, leave_final{};
    std::uint64_t raise_to = 0, token = 0;  ///< raise: what the register must be at least, and the claim's own token
    std::uint64_t instead_of = 0;           ///< raise: a token that this node made, and that nobody will ever see
    node_set behind{};                      ///< of raise: who has not answered yet, and may still make such a token
    std::optional<verdict> say{};           ///< how the round ended
    std::optional<departure> left{};        ///< how the leave ended
    bool unconfirmed = false;               ///< leave: too few nodes have confirmed it; ask again
  };

  quorum_machine(const quorum_rules& rules, unsigned needed) noexcept : rules_(rules), needed_(needed) {}

  /// Begins a round; one that is under way is over without a word.
  step ask(instant now, entry how, milliseconds lease);
  /// The same for a held claim that wants a fresh token: `enter` are the nodes to look at. If it is not won, the claim
  /// stands as it did.
  step renew(instant now, milliseconds lease);
  [[nodiscard]] bool renewing() const noexcept { return renewing_; }
  step voted(unsigned node, unsigned round, instant now, const node_vote& vote, double jitter = 0.5);
  step raised(unsigned node, unsigned round, instant now, bool done);
  /// These nodes were restarted and may have forgotten others' claims: their yes does not count.
  void shut_out(node_set nodes) noexcept { shut_ = nodes; }

  step leave(instant now, finality how, milliseconds lease);
  /// Nothing: it could not be asked, or did not answer.
  step left(unsigned node, unsigned round, instant now, std::optional<departure> how);
  /// It is known to be lost: what is left of it is cleared away in the background.
  step abandon(instant now);

  /// A node told that the lock may be free there. true: look again; a single node means nothing yet.
  [[nodiscard]] bool hint(unsigned node) noexcept;
  /// How long to wait after hints, so that several who were told do not all ask at once.
  [[nodiscard]] milliseconds stagger(double jitter) const noexcept;

  step timer(instant now, double jitter = 0.5);
  [[nodiscard]] instant due() const noexcept;

  [[nodiscard]] phase at() const noexcept { return phase_; }
  [[nodiscard]] unsigned round() const noexcept { return round_; }
  [[nodiscard]] instant sent() const noexcept { return sent_; }
  [[nodiscard]] unsigned needed() const noexcept { return needed_; }
  [[nodiscard]] std::uint64_t token() const noexcept { return token_; }
  [[nodiscard]] std::uint32_t tokens() const noexcept { return tokens_; }
  /// Nothing is under way, and nothing is left to be cleared away.
  [[nodiscard]] bool done() const noexcept {
    if (!(todo_ | in_flight()).empty()) return false;
    return phase_ == phase::over || (phase_ == phase::idle && maybe_.empty());
  }

 private:
  using kind = node_vote::kind;
  [[nodiscard]] node_set all() const noexcept { return node_set::first(rules_.nodes); }
  [[nodiscard]] node_set in_flight() const noexcept;
  [[nodiscard]] node_set with(kind is) const noexcept;
  [[nodiscard]] node_set voices() const noexcept;
  [[nodiscard]] bool ending() const noexcept { return phase_ == phase::leaving || phase_ == phase::over; }
  step evaluate(instant now, double jitter);
  step late_vote(unsigned node, unsigned round, instant now, const node_vote& vote);
  [[nodiscard]] step settle_token(unsigned node, const node_vote& vote) const noexcept;
  step win(instant now);
  step grant(instant now);
  step conclude(instant now, double jitter);
  step lose(instant now, verdict how, phase then);
  [[nodiscard]] verdict lost_round(double jitter) noexcept;
  void clear_away(step& next, node_set where, node_set final, instant now) noexcept;
  void send_leaves(step& next) noexcept;
  void answer_leave(step& next, bool settled) noexcept;
  [[nodiscard]] step retry(instant now) noexcept;

  quorum_rules rules_;
  unsigned needed_;
  phase phase_ = phase::idle;
  node_set shut_{};

  // the round
  unsigned round_ = 0, granted_in_ = 0;
  entry how_ = entry::attempt;
  milliseconds lease_{0};
  instant sent_{};
  bool ordered_ = false, renewing_ = false;
  node_set asked_{}, answered_{}, raising_{}, raised_{};
  node_set told_{};  // the token, behind a question that was not answered yet
  std::array<node_vote, most_nodes> votes_{};
  std::uint64_t token_ = 0;
  std::uint32_t tokens_ = 0;

  // what may be where
  std::array<std::uint16_t, most_nodes> enters_{};  // under way
  node_set maybe_{};                                // it may be held or waiting there
  node_set doubt_{};                                // an enter there was not answered: only a final leave ends that

  // waiting
  unsigned losses_ = 0;
  std::uint32_t ahead_ = 0;
  milliseconds trip_{1};
  node_set hints_{}, free_{};

  // leaving, and clearing away
  node_set todo_{}, final_{}, leaves_{};
  unsigned released_ = 0, stepped_out_ = 0, leave_count_ = 0;
  bool asked_to_leave_ = false;
  instant leave_sent_{}, retry_at_ = instant::max(), forget_at_{};
  unsigned retries_ = 0;
};

}  // namespace interlock::inline v1::core
