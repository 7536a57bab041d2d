// SPDX-License-Identifier: MIT
#include "backends/etcd/desk.hpp"

#include <algorithm>

/// What comes without being asked: deletions, the watch's ups and downs, and time.
namespace interlock::inline v1::etcd_store {

namespace {
constexpr std::size_t most_recent = 4'096;
constexpr milliseconds before_removing_again{500};
constexpr milliseconds least_pause{20};
}  // namespace

void desk::tell(std::vector<news>& all) {
  for (const auto& one : all) {
    switch (one.is) {
      case news::kind::granted: events_.granted(one.whom, one.as); break;
      case news::kind::look_again: events_.look_again(one.whom); break;
      case news::kind::evicted: events_.evicted(one.whom); break;
    }
  }
}

void desk::deleted(std::vector<deletion> keys) {
  std::vector<news> out;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    for (const auto& one : keys) told(one, out);
  }
  tell(out);
}

void desk::told(const deletion& one, std::vector<news>& out) {
  using kind = keyring::meaning::kind;
  const auto what = keys_.of(one.key);
  if (what.is == kind::eviction) {
    const auto id = claim_id::parse(what.rest);
    const auto found = id ? by_id_.find(*id) : by_id_.end();
    if (found == by_id_.end()) return;
    found->second->evicted = true;
    out.push_back({news::kind::evicted, found->second->secret, {}});
    return;
  }
  if (what.is == kind::nothing) return;
  const auto name = names_.find(std::string(what.written));
  if (name == names_.end()) return;
  if (what.is == kind::wake) {
    for (const auto& each : name->second.records)
      if (each->created != 0 && (!each->held || each->upgrading()))
        out.push_back({news::kind::look_again, each->secret, {}});
    return;
  }
  recent_.push_back({name->first, one.key, one.at});
  if (recent_.size() > most_recent) {
    forgotten_at_ = recent_.front().at;
    recent_.pop_front();
  }
  for (const auto& each : name->second.records) told_about(each, one, out);
}

void desk::told_about(const record_ptr& one, const deletion& gone, std::vector<news>& out) const {
  if (one->created == 0 || one->leaving) return;
  if (one->key == gone.key) {  // ours, and not by us
    if (gone.at > one->created) out.push_back({news::kind::look_again, one->secret, {}});
    return;
  }
  if (one->held && !one->upgrading()) return;
  if (!one->whole() || one->held || one->counted_at == 0) {
    out.push_back({news::kind::look_again, one->secret, {}});
    return;
  }
  if (gone.at <= one->counted_at || !strike_off(*one, gone.key) || !one->before.empty()) return;
  if (!one->all_known) {
    one->counted_at = 0;
    out.push_back({news::kind::look_again, one->secret, {}});
    return;
  }
  one->held = true;
  out.push_back({news::kind::granted, one->secret, held_standing(*one, 0)});
}

void desk::begin(milliseconds patience) {
  link_->watch(keys_.all(), *this);
  std::unique_lock lock(mutex_);
  seeing_.wait_for(lock, patience, [&] { return seen_since_ != 0; });
}

void desk::watching(revision since) {
  std::vector<news> out;
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    seen_since_ = since;
    again = was_blind_;
    for (const auto& [secret, one] : records_)
      if (one->created != 0 && !one->held) out.push_back({news::kind::look_again, secret, {}});
    seeing_.notify_all();
  }
  if (again)
    events_.link(true);  // every claim is looked at, and counted anew
  else
    tell(out);
}

void desk::blind() {
  {
    const std::lock_guard lock(mutex_);
    seen_since_ = 0;
    was_blind_ = true;
    recent_.clear();
    for (const auto& [secret, one] : records_) one->counted_at = 0;
  }
  events_.link(false);
}

// ---- time

void desk::arm(instant when) {
  if (when >= armed_ || closed_) return;
  armed_ = when;
  loop_.call_at(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->sweep();
  });
}

// A session goes on as long as any of its claims is looked after; one that is not has to end all the same.
void desk::sweep() {
  std::vector<record_ptr> over;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    const auto now = time_.now();
    auto first = instant::max();
    for (const auto& [secret, one] : records_) {
      if (one->ends < now)
        over.push_back(one);
      else
        first = std::min(first, one->ends);
    }
    for (const auto& one : over) {
      bury(one->secret, one->evicted, milliseconds{0});
      forget_locked(one, false);
    }
    armed_ = instant::max();
    if (first != instant::max()) arm(std::max(first, now + least_pause));
  }
  for (const auto& one : over) remove_later(one);
}

void desk::remove_later(const record_ptr& one) {
  if (one->created == 0) return;
  link_->commit({{created_at(one->key, one->created)}, {remove(one->key)}, {}},
                [self = shared_from_this(), one](const result<outcome>& got) {
                  if (got || time_over(*self, *one)) {
                    const std::lock_guard lock(self->mutex_);
                    if (!one->burnt) self->keys_in_use_.erase(one->key);
                    return;
                  }
                  self->loop_.call_at(self->time_.now() + before_removing_again, [weak = self->weak_from_this(), one] {
                    if (const auto again = weak.lock()) again->remove_later(one);
                  });
                });
}

// The session it belonged to has ended by then, unless others of its claims go on; a minute more is enough for those.
bool desk::time_over(const desk& at, const record& one) {
  return at.time_.now() > one.ends + one.lease + std::chrono::minutes{1};
}

}  // namespace interlock::inline v1::etcd_store
