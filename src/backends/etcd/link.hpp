// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/settings.hpp"
#include "backends/etcd/wire.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace interlock::inline v1::etcd_store {

struct member_status {
  std::string endpoint{}, version{};
  std::uint64_t member = 0, leader = 0;
  std::int64_t size = 0;
};
struct cluster_view {
  std::uint64_t cluster = 0;
  std::size_t members = 0, learners = 0;
  std::vector<std::string> alarms{};
};

/// What the watch tells, in order; on the thread that reads, with no lock held.
class link_listener {
 public:
  virtual void deleted(std::vector<deletion> keys) = 0;
  /// Deletions after this revision are told. What happened while they were not is not told any more.
  virtual void watching(revision since) = 0;
  virtual void blind() = 0;

 protected:
  ~link_listener() = default;
};

/// The way to etcd: calls to one member at a time, to the next one if that does not answer. Every call is answered,
/// within the time-out, on the thread that reads its answers or on the loop's, with no lock held; it is never repeated,
/// unless a login had run out and nothing had happened.
class link {
 public:
  static std::shared_ptr<link> make(etcd_settings settings, reactor& loop, const time_source& time);
  virtual ~link() = default;

  void commit(const transaction& what, completion<outcome> done) { commit(what, inline_work::never, std::move(done)); }
  virtual void commit(const transaction& what, inline_work here, completion<outcome> done) = 0;
  virtual void grant(std::int64_t seconds, completion<granted_lease> done) = 0;
  virtual void revoke(lease_id lease, completion<bool> done) = 0;
  /// The seconds it has now; 0: it is over.
  virtual void keep_alive(lease_id lease, completion<std::int64_t> done) = 0;
  /// The seconds left; below zero: it is over.
  virtual void time_to_live(lease_id lease, completion<std::int64_t> done) = 0;
  virtual void status(std::size_t endpoint, completion<member_status> done) = 0;
  virtual void view(completion<cluster_view> done) = 0;
  /// To the next member, if this one has not been left just now.
  virtual void other_way() = 0;
  /// Once; ends with close().
  virtual void watch(key_range keys, link_listener& to) = 0;

  // backend::borrow_news and what follows it.
  virtual int borrow() noexcept = 0;
  virtual bool read() noexcept = 0;
  virtual backend::arrival await() noexcept = 0;
  virtual void give_back(backend::loan_end as) noexcept = 0;

  /// Calls under way are answered with an error before this returns; none can be made after it.
  virtual void close() noexcept = 0;
};

}  // namespace interlock::inline v1::etcd_store
