// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>
#include <interlock/detail/completion.hpp>
#include <interlock/info.hpp>
#include <interlock/result.hpp>
#include <interlock/url.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// For people who teach interlock a new store. Users of locks need none of this.
///
/// Everything a caller can hold is one thing, a *claim*: a weight of a name's capacity, with a lease. A claim fits if
/// used + weight <= capacity. Mutex and read/write: capacity 2^31, shared weighs 1, exclusive weighs all of it.
/// Semaphore: capacity n, weight k. In the store a claim is *waiting* or *held*, and has one lease either way.
///
/// A backend turns one question about a claim into one message to one store. It never waits for a lock, never retries
/// and never decides about time on the caller's side: that is done once, in the core, for every store.
namespace interlock::inline v1 {

/// Sixteen random bytes that only the claimant and the store know: whoever has them can release the lock.
class claim_secret {
 public:
  constexpr claim_secret() noexcept = default;
  explicit constexpr claim_secret(const std::array<std::byte, 16>& bytes) noexcept : bytes_(bytes) {}
  [[nodiscard]] constexpr const std::array<std::byte, 16>& bytes() const noexcept { return bytes_; }
  friend bool operator==(const claim_secret&, const claim_secret&) = default;

 private:
  std::array<std::byte, 16> bytes_{};
};

/// The public handle of a claim: half of the SHA-256 of its secret.
claim_id public_id(const claim_secret& secret) noexcept;

/// Who is claiming, for people who look: the same for every claim of a client.
struct claim_origin {
  std::string host{}, program{}, purpose{};
  std::int64_t pid{};
  friend bool operator==(const claim_origin&, const claim_origin&) = default;
};

inline constexpr std::uint32_t lock_capacity = std::uint32_t{1} << 31;

/// What a store is told about one claim. The views, `origin` included, live until the request's completion has run.
struct claim {
  std::string_view name{};
  claim_secret secret{};
  lock_mode mode = lock_mode::exclusive;
  std::uint32_t weight = lock_capacity;
  std::uint32_t capacity = lock_capacity;
  milliseconds lease{};       ///< of a held claim; the caller's lock_delay is already in it
  milliseconds wait_lease{};  ///< of a waiting claim, at most `lease`
  std::uint32_t tokens = 1;   ///< how many consecutive tokens to reserve with a grant (never for shared claims)
  const claim_origin* origin = nullptr;
  std::uint64_t memo = 0;  ///< whatever the store's last answer said; 0 before the first
};

enum class entry : std::uint8_t { attempt /* do not queue */, queue };
enum class finality : std::uint8_t {
  answered,  ///< the claim's enter was answered: just remove it
  final,     ///< an enter may still be under way: it must never take effect after this
};
/// May the backend do the work on the calling thread, before it returns, if that takes no waiting?
enum class inline_work : std::uint8_t {
  never,
  if_brief,
  together,  ///< not yet: this thread is about to ask for more, and calls flush() then; should that take longer than
             ///< some milliseconds, the backend must not wait for it
  /// These two: if_brief, and the caller has nothing to do but wait for the answer, alone: the backend may fetch it,
  /// too, and call the completion before it returns. For some milliseconds at most, then it returns without; or as long
  /// as backend::fetches_answers() says, because nobody is going to want the caller back before that.
  with_answer_soon,
  with_answer,
};

/// How a claim stands in the store.
struct standing {
  enum class kind : std::uint8_t {
    held,     ///< token, tokens, behind
    waiting,  ///< ahead, look_again_in
    busy,     ///< an attempt did not fit: look_again_in; no claim was left
    gone,     ///< the store has no such claim (any more): reason
  };
  enum class cause : std::uint8_t { unknown /* expired, removed, never there */, evicted };

  kind is = kind::gone;
  cause reason = cause::unknown;
  lock_mode mode = lock_mode::exclusive;
  std::uint64_t token = 0;        ///< held: the (first reserved) fencing token; 0: none was made by this answer
  std::uint32_t tokens = 0;       ///< held: how many are reserved, from `token` on
  std::uint32_t ahead = 0;        ///< waiting: claims before it in the queue
  std::uint32_t behind = 0;       ///< held: claims queueing for this name
  milliseconds look_again_in{0};  ///< waiting, busy: until the first lease in the way runs out; 0: unknown
  std::uint64_t memo = 0;
};
using standings = std::vector<result<standing>>;  ///< one for each claim asked about, in order

enum class departure : std::uint8_t {
  released,  ///< it was held
  left,      ///< it was waiting
  gone,      ///< it was not there, or its lease had run out
};

struct survey_query {
  std::string prefix{};
  bool exact = false;   ///< the name `prefix` itself, nothing else
  std::string after{};  ///< continue behind this name; empty: from the start
  std::size_t most = 256;
};
struct survey_page {
  std::vector<lock_info> locks{};  ///< sorted by name
  bool more = false;
};

/// Called once, from any thread, never with a lock of the backend held.
template <class T>
using completion = unique_function<void(result<T>)>;

/// What a store tells without being asked. Hints: they may be missing, late or repeated; the core always has a timer
/// behind them. May be called from any thread, with no lock of the backend held. They never call the backend back.
class backend_events {
 public:
  virtual void granted(const claim_secret& who, const standing& as) noexcept = 0;
  virtual void look_again(const claim_secret& who) noexcept = 0;
  virtual void evicted(const claim_secret& who) noexcept = 0;
  /// The way to the store went up or down. After `up` every claim is looked at.
  virtual void link(bool up) noexcept = 0;
  /// Another server answers than before (restart, fail-over), and may not know our claims: holders are in jeopardy
  /// until they have been looked at.
  virtual void another_server() noexcept = 0;
  /// For a store that has many answers at once, if it likes: those it gives between these two, on one thread and with
  /// nothing else in between, may be worked off as one.
  virtual void answers_begin() noexcept {}
  virtual void answers_end() noexcept {}

 protected:
  ~backend_events() = default;
};

class cell_store;

/// One store, seen from one client. All calls may come from any thread, also at the same time.
///
/// Requests of one client about one name take effect in the order they were made.
class backend {
 public:
  virtual ~backend() = default;
  [[nodiscard]] virtual const store_traits& traits() const noexcept = 0;

  /// Creates the claim; asking again with the same secret is safe and answers how it stands. A claim that was left
  /// finally, or whose lease ran out in the queue, is `gone`: it is never granted afterwards.
  virtual void enter(const claim& who, entry how, inline_work here, completion<standing> done) = 0;
  /// Never creates. Extends the leases of waiting and held claims, and is therefore the renewal. A held exclusive or
  /// permit claim that asks for more than one token gets a fresh block.
  virtual void look(std::span<const claim> whom, inline_work here, completion<standings> done) = 0;
  /// Releases if held, leaves the queue if waiting, wakes who is next. Removes nothing that is not this claim's.
  virtual void leave(const claim& who, finality how, inline_work here, completion<departure> done) = 0;
  /// To `mode` and `weight` without letting go. Downgrade always; upgrade if it fits now, else `busy`, or with
  /// entry::queue `waiting`, still held as before and served first. A second upgrader: errc::deadlock. Converting to
  /// what it already is takes a queued upgrade back. A new exclusive hold has a new token.
  virtual void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how,
                       completion<standing> done) = 0;
  virtual void survey(survey_query what, completion<survey_page> done) = 0;
  /// Ends exactly this claim. Gently: it is marked, its holder is told, and the record stays until the lease is over,
  /// so that nobody is granted the lock while the holder believes in it. By force: now. false: it was gone already.
  virtual void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) = 0;

  /// Optional: whether it knows what inline_work::with_answer means, and for how long that may take at most.
  [[nodiscard]] virtual std::optional<milliseconds> fetches_answers() const noexcept { return {}; }

  /// Optional. Sends what was asked with inline_work::together; so does borrow_news(), unless it answers -1.
  virtual void flush() noexcept {}

  /// Optional. How the store is set up, for `interlock doctor`.
  virtual void examine(completion<std::vector<store_check>> done) { done(std::vector<store_check>{}); }

  /// Optional: see cells.hpp. nullptr: this store has none. It lives as long as the backend.
  [[nodiscard]] virtual cell_store* cells() noexcept { return nullptr; }

  /// Optional. Lends the descriptor on which answers, or only news, arrive to a caller that waits for them on its own
  /// thread, which saves the way over the loop's: readable means read_news(), and return_news() ends the loan. -1:
  /// there is none, or it is lent already. While it is lent, nobody else listens.
  enum class awaited : std::uint8_t { answer /* to a request just made */, news };
  [[nodiscard]] virtual int borrow_news(awaited) noexcept { return -1; }
  /// false: nothing more will come this way; return it.
  [[nodiscard]] virtual bool read_news() noexcept { return false; }
  /// read_news() that first waits, for some milliseconds at most, for an answer that is under way: one system call
  /// where finding out that it can be read takes another. `nothing`: none came, or there is none to come; a store may
  /// also not wait at all.
  enum class arrival : std::uint8_t { something, nothing, the_end /* nothing more will come this way */ };
  [[nodiscard]] virtual arrival await_news() noexcept { return arrival::nothing; }
  /// `quiet`: nobody else of this client is waiting for anything now. `back_soon`: whoever returns it is going to
  /// borrow it again; if that takes longer than some milliseconds, somebody must listen meanwhile.
  enum class loan_end : std::uint8_t { others_wait, quiet, back_soon };
  virtual void return_news(loan_end as) noexcept { static_cast<void>(as); }

  /// No event is delivered after this returned; requests under way are answered or dropped. Called once, last.
  virtual void close() noexcept = 0;
};

/// What the engine lends to a backend: its thread for short work and for sockets.
class reactor {
 public:
  virtual ~reactor() = default;
  virtual void post(unique_function<void()> work) = 0;
  /// Not before `when`, and never if the loop has stopped by then.
  virtual void call_at(instant when, unique_function<void()> work) = 0;
  /// Calls `ready` on the loop's thread while `fd` is readable, until the subscription ends.
  virtual subscription when_readable(int fd, std::function<void()> ready) = 0;
};

struct backend_environment {
  const store_url& url;
  const client_options& options;
  const time_source& time;
  backend_events& events;
  reactor& loop;
};
using backend_factory = std::function<result<std::unique_ptr<backend>>(const backend_environment&)>;

/// From now on `scheme:...` URLs reach this store, in every client connected later. A scheme given twice: the last one.
void register_backend(std::string_view scheme, backend_factory make);

}  // namespace interlock::inline v1

template <>
struct std::hash<interlock::claim_secret> {
  std::size_t operator()(const interlock::claim_secret& secret) const noexcept {
    std::size_t half;  // uniformly random bytes: any eight of them are a hash
    static_assert(sizeof half <= 16);
    __builtin_memcpy(&half, secret.bytes().data(), sizeof half);
    return half;
  }
};
