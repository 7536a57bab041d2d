// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/way.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace interlock::inline v1::sql {

/// Claims that wait in a database that cannot tell anybody. One query asks after all of this client's together, without
/// locking or changing anything; often at first, more seldom the longer nothing happens. Whoever is not waiting any
/// more is told to look.
class waiting_room final : public std::enable_shared_from_this<waiting_room> {
 public:
  struct seat {
    std::string name{};
    std::uint64_t seq = 0;
  };
  /// The statement: a row for each that still waits, with its number in the list, from 0 on.
  using question_text = std::function<std::string(std::span<const seat>)>;

  waiting_room(const std::shared_ptr<way>& to, question_text ask, backend_events& events, reactor& loop,
               const time_source& time);

  /// What a question about it was answered with.
  void noted(const question& asked, const standing& as);
  /// It leaves.
  void forget(const claim_secret& who);
  /// Nobody is told anything after this returned, unless by this very thread.
  void close() noexcept;

 private:
  struct guest {
    seat at{};
    std::uint32_t ahead = 0;
    bool upgrading = false;
    bool called = false;  // told, and not heard of since
    instant since{};
  };

  void plan();
  void ask();
  void answered(const std::vector<claim_secret>& whom, const result<const rows*>& got);
  [[nodiscard]] static milliseconds pause_of(const guest& one, instant now);

  const std::weak_ptr<way> way_;
  const question_text text_;
  backend_events& events_;
  reactor& loop_;
  const time_source& time_;

  std::recursive_mutex telling_;     // held while events are called
  std::atomic<bool> closed_{false};  // written under telling_
  std::atomic<std::size_t> count_{0};

  std::mutex mutex_;  // everything below; taken after telling_
  std::unordered_map<claim_secret, guest> guests_;
  instant due_ = instant::max();  // of the timer that is set
  bool asking_ = false;
};

}  // namespace interlock::inline v1::sql
