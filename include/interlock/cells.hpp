// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

/// For people who teach interlock a new store, like backend.hpp. Users of latches need none of this.
///
/// The second, smaller waist: what is data rather than a lock. A *cell* is a small value with a version, under a name
/// of its own. Nobody holds a cell, so nothing happens to it when somebody dies. A name's cell and its claims have
/// nothing to do with each other.
namespace interlock::inline v1 {

/// Which state of a cell. Rises with every change, also over removals: what was seen once never comes back.
struct version {
  std::uint64_t number = 0;  ///< 0: not there
  friend auto operator<=>(version, version) = default;
};

/// What a read found.
struct cell {
  std::string value{};
  interlock::version version{};
};

/// A change that takes effect only if nobody was faster. The views live until the completion has run.
struct cell_write {
  std::string_view name{};
  version expected{};                       ///< what was read before; 0: only if it is not there
  std::optional<std::string_view> value{};  ///< nothing: it is removed
  /// Made once for one intention, and the same each time it is asked for: the store remembers the last cell_marks of
  /// them, so that a change whose answer was lost happens once however often it is asked for.
  claim_secret mark{};
  bool again = false;    ///< it was asked for before, and nobody knows what became of that
  milliseconds keep{0};  ///< how long the store remembers it after this change; 0: for ever
};
inline constexpr std::size_t cell_marks = 64;  ///< changes of one cell whose marks are remembered
/// How long a removed cell's marks are remembered, and its version where that is not kept for ever.
inline constexpr milliseconds cell_tomb_time = std::chrono::hours{24};

/// What a store's cells can do.
struct cell_limits {
  /// Values are decimal numbers above 0 and the version is the value; writing "0" removes, and what is not there counts
  /// as 0: another library's latch. Its versions do come back, when somebody sets the latch up anew.
  bool counts_only = false;
  bool push = false;  ///< watchers are told; otherwise they poll
  std::size_t value_max = 16 * 1024;
};

/// A store's cells, seen from one client. All calls may come from any thread, also at the same time. Like a backend it
/// never waits, never retries and never keeps time on the caller's side. Outcomes are told apart as everywhere:
/// `unavailable`, it certainly did not happen; `indeterminate`, it may have; `conflict`, somebody else was faster.
class cell_store {
 public:
  virtual ~cell_store() = default;
  [[nodiscard]] virtual const cell_limits& limits() const noexcept = 0;

  virtual void read(std::string_view name, completion<cell> done) = 0;
  /// The version it made, also if that was at an earlier time of asking. `conflict`: the version is another than
  /// expected. `indeterminate` to one that is asked `again`: it may have happened, and been followed by more changes
  /// than are remembered.
  virtual void write_if(const cell_write& what, completion<version> done) = 0;
  void remove_if(cell_write what, completion<version> done) {
    what.value.reset();
    write_if(what, std::move(done));
  }

  /// Calls `changed` after changes of this cell, by anybody, until the subscription ends. A hint: it may be missing,
  /// late, repeated or for nothing. Called from any thread, also before this returns; it must not call the store back.
  [[nodiscard]] virtual subscription watch(std::string_view name, std::function<void()> changed) = 0;
};

}  // namespace interlock::inline v1
