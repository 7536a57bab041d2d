// SPDX-License-Identifier: MIT
#pragma once

#include "backends/quorum/lending.hpp"
#include "backends/quorum/node.hpp"
#include "backends/quorum/roster.hpp"
#include "backends/quorum/settings.hpp"
#include "core/quorum_machine.hpp"
#include "core/random.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace interlock::inline v1::quorum_store {

class quorum_claim;

/// Something that wants to be called at an instant.
class alarm {
 public:
  virtual ~alarm() = default;
  virtual void ring(instant now) = 0;
};

/// The nodes, the claims that this client has on them, and the time.
class quorum final : public node::owner, public std::enable_shared_from_this<quorum> {
 public:
  quorum(const backend_environment& environment, quorum_settings settings);

  /// Waits until enough nodes have been reached, or certainly will not be.
  result<void> open(const backend_environment& environment);
  /// Nothing is told or answered after this returned.
  void close() noexcept;

  [[nodiscard]] const core::quorum_rules& rules() const noexcept { return settings_.rules; }
  [[nodiscard]] const quorum_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(nodes_.size()); }
  [[nodiscard]] node& at(unsigned number) const noexcept { return *nodes_[number]; }
  [[nodiscard]] instant now() const noexcept { return time_.now(); }
  [[nodiscard]] double jitter();
  [[nodiscard]] core::node_set shut_out(instant now, milliseconds lease);
  /// "2 of 5 nodes could be asked, 3 must agree: redis 10.0.0.1:6379: Connection refused"
  [[nodiscard]] std::string trouble() const;

  [[nodiscard]] std::shared_ptr<quorum_claim> find(const claim_secret& secret);
  [[nodiscard]] std::shared_ptr<quorum_claim> find_or_make(const claim& who);
  void forget(const quorum_claim& which);
  /// It is over for whoever asked for it, and is still being cleared away.
  void retire(const quorum_claim& which);

  [[nodiscard]] lending& loan() noexcept { return loan_; }
  void at(instant when, std::weak_ptr<alarm> what);
  /// Some milliseconds later than that, together with others.
  void at_about(instant when, std::weak_ptr<alarm> what);
  /// To the engine, unless it has closed us.
  void tell_look_again(const claim_secret& whom) noexcept;

  /// Whatever was asked with inline_work::together.
  void flush() const noexcept;

  // How many leaves are on their way: the last ones are waited for when closing.
  void leave_begins() noexcept { leaves_.fetch_add(1); }
  void leave_ends() noexcept;

  // node::owner
  void link(unsigned node, bool up) noexcept override;
  void remembers(unsigned node, const node_memory& what) noexcept override;
  void hint(unsigned node, const claim_secret& whom) noexcept override;
  void evicted(unsigned node, const claim_secret& whom) noexcept override;

 private:
  void tick() noexcept;
  void arm(instant when);
  void mark(core::node_set which);
  template <class F>
  void tell(F what) noexcept;

  reactor& loop_;
  const time_source& time_;
  backend_events& events_;
  const quorum_settings settings_;
  std::vector<std::unique_ptr<node>> nodes_;

  lending loan_{*this};

  std::mutex claims_mutex_;
  std::unordered_map<claim_secret, std::shared_ptr<quorum_claim>> claims_;
  std::unordered_map<const quorum_claim*, std::shared_ptr<quorum_claim>> retired_;

  std::mutex alarms_mutex_;
  std::map<instant, std::vector<std::weak_ptr<alarm>>> alarms_;
  instant armed_ = instant::max();

  mutable std::mutex roster_mutex_;
  std::condition_variable roster_changed_;
  roster roster_;
  std::vector<bool> links_;
  unsigned up_ = 0;
  unsigned marks_ = 0;  // being written
  bool opened_ = false;

  std::mutex random_mutex_;
  core::kernel_random random_;

  std::atomic<std::size_t> leaves_{0};
  std::mutex leaves_mutex_;
  std::condition_variable leaves_over_;

  std::recursive_mutex telling_;  // nothing is told once closed_ was set under it
  bool closed_ = false;
};

}  // namespace interlock::inline v1::quorum_store
