// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records.hpp"
#include "engine/thread.hpp"

#include <interlock/guard.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace interlock::inline v1::runtime {
class engine;
struct watcher;
}  // namespace interlock::inline v1::runtime

namespace interlock::inline v1::detail {

class client_handle;

/// The guard's side of a held claim. Several guards may share one: re-entry.
class hold final {
 public:
  hold(std::shared_ptr<client_handle> from, runtime::slot& where) noexcept
      : client(std::move(from)), at(&where), born_in(runtime::fork_generation()) {}
  hold(const hold&) = delete;
  hold& operator=(const hold&) = delete;
  ~hold();

  static guard make_guard(std::shared_ptr<hold> held) noexcept { return guard(std::move(held)); }

  // Lock-free: any thread, any time.
  [[nodiscard]] bool valid() const noexcept;
  [[nodiscard]] milliseconds remaining() const noexcept;
  [[nodiscard]] lock_state state() const noexcept;
  [[nodiscard]] loss_reason why_lost() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept { return at->name(); }
  [[nodiscard]] bool forked() const noexcept { return born_in != runtime::fork_generation(); }
  [[nodiscard]] runtime::engine& engine() const noexcept;

  std::shared_ptr<client_handle> client;
  runtime::slot* at;
  mutable std::atomic<std::int64_t> until{0};  // ns on the boot clock, or sealed
  /// Somebody was told that it is over: no renewal, however near, makes it valid again.
  static constexpr std::int64_t sealed = std::numeric_limits<std::int64_t>::min();
  /// A confirmed renewal. false: too late.
  bool prolong(instant to) noexcept;
  std::atomic<lock_state> is{lock_state::held};
  std::atomic<loss_reason> reason{loss_reason::none};
  std::atomic<lock_mode> mode{lock_mode::exclusive};
  std::atomic<std::uint64_t> token{0};
  claim_secret secret{};
  unsigned born_in;  // fork generation

  // Guarded by the engine's mutex.
  std::optional<owner_id> owner{};
  std::weak_ptr<hold> itself{};  // if it has an owner, who may enter it again
  std::uint32_t depth = 1;
  instant since{};
  runtime::claim_record* claim = nullptr;
  struct ears {
    std::stop_source stop{};
    std::vector<std::shared_ptr<runtime::watcher>> watchers{};
  };
  std::unique_ptr<ears> heard{};  // made when somebody first wants to hear of it
  ears& listeners() {
    if (!heard) heard = std::make_unique<ears>();
    return *heard;
  }
};

}  // namespace interlock::inline v1::detail
