// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/way.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

namespace interlock::inline v1::sql {

/// For a database that cannot tell anybody: while this client holds something, the number of evictions so far is asked
/// for once a second, and when it has changed, all its holders are told to look. Short leases find out by themselves.
class eviction_watch final : public std::enable_shared_from_this<eviction_watch> {
 public:
  /// `text`: the statement whose one field is that number.
  eviction_watch(const std::shared_ptr<way>& to, std::string text, backend_events& events, reactor& loop,
                 const time_source& time);

  /// What a question about it was answered with.
  void noted(const claim_secret& who, const standing& as);
  /// It leaves.
  void forget(const claim_secret& who);
  /// Nobody is told anything after this returned, unless by this very thread.
  void close() noexcept;

 private:
  void plan();
  void ask();
  void answered(const result<const rows*>& got);

  const std::weak_ptr<way> way_;
  const std::string text_;
  backend_events& events_;
  reactor& loop_;
  const time_source& time_;

  std::recursive_mutex telling_;     // held while events are called
  std::atomic<bool> closed_{false};  // written under telling_

  std::mutex mutex_;  // everything below; taken after telling_
  std::unordered_set<claim_secret> holders_;
  std::string count_;  // empty: not known yet
  bool planned_ = false;
};

}  // namespace interlock::inline v1::sql
