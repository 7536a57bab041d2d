// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace interlock::inline v1 {

using std::chrono::milliseconds;

enum class lock_mode : std::uint8_t { exclusive, shared };

/// What a store, as found, can promise. best_effort: exclusion and token may both break when it loses data. fenced:
/// exclusion may break in a fault, the token still orders. strict: both survive a store fault.
enum class guarantee : std::uint8_t { best_effort, fenced, strict };

std::string_view to_string(lock_mode mode) noexcept;
std::string_view to_string(guarantee promise) noexcept;

/// Who is asking, for re-entry: a request, a transaction, a thread. Sixteen bytes, trivially copyable.
class owner_id {
 public:
  /// The same text is the same owner.
  explicit owner_id(std::string_view text) noexcept;
  static owner_id random();
  static owner_id this_thread() noexcept;

  friend bool operator==(const owner_id&, const owner_id&) = default;

 private:
  constexpr owner_id() noexcept = default;
  std::array<std::byte, 16> bytes_{};
};

/// How one acquisition behaves. Name any subset, in this (alphabetical) order; the rest keep these defaults.
struct acquire_options {
  /// How long the store keeps the lock if we fall silent; renewed by itself every third of it. Shorter frees it sooner
  /// after a crash, longer rides out longer stalls. Unset: the client's, 30 s by default.
  std::optional<milliseconds> lease{};
  /// Keeps the lock shut this long after an *unclean* end, for resources that cannot check a token. A clean release
  /// frees at once; after a crash the next holder waits lease + lock_delay.
  milliseconds lock_delay{0};
  /// Renewals stop here: a hung holder loses the lock (loss_reason::overheld) this long after it was granted.
  std::optional<milliseconds> max_hold{};
  lock_mode mode = lock_mode::exclusive;
  /// Set: the same owner in this client re-enters and gets the same token. Exclusive mode only.
  std::optional<owner_id> owner{};
  /// How many permits of a semaphore; anything but 1 elsewhere is invalid_argument.
  std::uint32_t permits = 1;
  /// How long to queue. Unset: acquire and attempt queue for ever, try_acquire does not queue. Zero: do not queue.
  std::optional<milliseconds> wait{};
};
// g++ 12 destroys such a temporary twice inside a co_await expression unless this holds.
static_assert(std::is_trivially_destructible_v<acquire_options>);

struct event;

/// Where your callbacks and coroutines run. It is called on an interlock thread: enqueue the work, do not run it there.
using executor = std::function<void(std::function<void()>)>;

/// Given once, when connecting. Every plain value is also a URL parameter (`?lease=10s&require=strict`); a value set
/// here wins.
struct client_options {
  /// Default lease of every acquisition. Unset: the URL's, else 30 s.
  std::optional<milliseconds> lease{};
  /// The last handle's destructor waits at most this long for releases in flight. Unset: the URL's, else 1 s.
  std::optional<milliseconds> linger{};
  /// Everything destructors cannot report; metrics; tracing. Never runs on the engine's thread.
  std::function<void(const event&)> observer{};
  /// Asked at each (re)connection, so that short-lived credentials work.
  std::function<std::string()> password{};
  /// How long one call bears silence from the store before it says unavailable or indeterminate. Unset: the URL's,
  /// else 5 s.
  std::optional<milliseconds> patience{};
  /// Put before every name of this client.
  std::string prefix{};
  /// Shown by survey, `interlock ls` and `show`: what this program holds locks for.
  std::string purpose{};
  /// Refuse to connect if the store, as found, cannot keep this. Unset: the URL's, else best_effort (any store).
  std::optional<guarantee> require{};
  /// E.g. `[&io](auto f) { asio::post(io, std::move(f)); }`. Unset: one callback thread of the client.
  executor resume_on{};
};

}  // namespace interlock::inline v1
