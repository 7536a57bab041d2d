// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/requests.hpp"

#include <iterator>
#include <utility>

/// What the servers tell: changes that were watched, and what becomes of sessions.
namespace interlock::inline v1::zookeeper_store {

using state = record::state;

void claims::watch(const record_ptr& one, const std::string& path) {
  one->watching = path;
  watchers_[path].push_back(one);
  // Reading the data leaves no watch behind where the node has gone meanwhile; asking whether it exists would.
  send(one, ask_data(path, true), inline_work::never,
       about(one, [this, path](const record_ptr& it, answer got, aftermath& then) {
         if (got.error != code::no_node || it->is != state::waiting || it->watching != path) return;
         watchers_.erase(path);
         it->watching.clear();
         list(it, then);
       }));
}

void claims::watched(session& which, const watch_event& what) noexcept {
  change([&](aftermath& out) {
    const auto found = watchers_.find(std::string(what.path));
    if (found == watchers_.end()) return;
    auto whom = std::move(found->second);
    watchers_.erase(found);
    for (const auto& weak : whom) {
      const auto one = weak.lock();
      if (!one || !one->stands()) continue;
      if (one->at.get() != &which) {  // its own session will tell it
        watchers_[std::string(what.path)].push_back(weak);
        continue;
      }
      if (one->guarded && what.path == one->own()) {
        guard(one);
        continue;
      }
      if (one->is != state::waiting || one->watching != what.path) continue;
      one->watching.clear();
      list(one, out);
    }
  });
}

void claims::established(session& which, bool fresh) noexcept {
  bool first = false;
  change([&](aftermath& out) {
    first = !opened_;
    if (first) {
      opened_.emplace();
      first_.notify_all();
    }
    std::vector<record_ptr> mine;
    for (const auto& [secret, one] : records_)
      if (one->at.get() == &which) mine.push_back(one);
    for (const auto& one : mine) settle_link(one, fresh, out);
  });
  if (!first) events_.link(true);
}

// [mutex_] Watches end with a connection, and what was under way on it is not known.
void claims::settle_link(const record_ptr& one, bool fresh, aftermath& out) {
  if (one->unsent) return begin(one, inline_work::never, out);
  if (fresh) return;
  one->guarded = false;
  one->watching.clear();
  switch (one->is) {
    case state::uncertain:
      if (one->doomed) resolve(one, out);
      return;
    case state::waiting: list(one, out); [[fallthrough]];
    case state::held:
      to_guard_.emplace_back(time_.now(), one);
      schedule(time_.now());
      return;
    default: return;
  }
}

void claims::adrift(session& which) noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = watchers_.begin(); entry != watchers_.end();) {
      std::erase_if(entry->second, [&](const std::weak_ptr<record>& weak) {
        const auto one = weak.lock();
        return !one || one->at.get() == &which;
      });
      entry = entry->second.empty() ? watchers_.erase(entry) : std::next(entry);
    }
  }
  events_.link(false);
}

// Its nodes have gone with it. Whatever a new session finds under their names is not ours.
void claims::expired(session& which) noexcept {
  change([&](aftermath& out) {
    std::vector<record_ptr> mine;
    for (const auto& [secret, one] : records_)
      if (one->at.get() == &which && !one->unsent) mine.push_back(one);
    for (const auto& one : mine) {
      one->left_as = departure::gone;
      one->last_word = failure_of(code::session_expired, "entering " + one->path);
      out.add([this, secret = one->secret] { events_.look_again(secret); });
      end(one, out);
    }
  });
}

void claims::failed(session& which, const failure& why) noexcept {
  change([&](aftermath& out) {
    if (!opened_) {
      opened_.emplace(failure(why.kind() == errc::indeterminate ? errc::unavailable : why.kind(), why.message()));
      first_.notify_all();
    }
    std::vector<record_ptr> mine;
    for (const auto& [secret, one] : records_)
      if (one->at.get() == &which && one->unsent) mine.push_back(one);
    for (const auto& one : mine) fail_enter(one, why, out);
  });
}

}  // namespace interlock::inline v1::zookeeper_store
