// SPDX-License-Identifier: MIT
#include "backends/sql/eviction_watch.hpp"

#include <utility>
#include <vector>

namespace interlock::inline v1::sql {
namespace {

constexpr milliseconds pause{1'000};

}  // namespace

eviction_watch::eviction_watch(const std::shared_ptr<way>& to, std::string text, backend_events& events, reactor& loop,
                               const time_source& time)
    : way_(to), text_(std::move(text)), events_(events), loop_(loop), time_(time) {}

void eviction_watch::noted(const claim_secret& who, const standing& as) {
  const std::lock_guard lock(mutex_);
  if (as.is != standing::kind::held) {
    holders_.erase(who);
    return;
  }
  holders_.insert(who);
  plan();
}

void eviction_watch::forget(const claim_secret& who) {
  const std::lock_guard lock(mutex_);
  holders_.erase(who);
}

void eviction_watch::close() noexcept {
  const std::lock_guard lock(telling_);
  closed_.store(true);
}

// [mutex_] The timer runs on for a while after the last one has left: most come back.
void eviction_watch::plan() {
  if (std::exchange(planned_, true)) return;
  loop_.call_at(time_.now() + pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->ask();
  });
}

void eviction_watch::ask() {
  const auto to = way_.lock();
  if (!to || closed_.load()) return;
  {
    const std::lock_guard lock(mutex_);
    planned_ = false;
    if (holders_.empty()) {
      count_.clear();  // whoever holds something later was not evicted before
      return;
    }
  }
  auto one = std::make_shared<errand>(nullptr, std::vector<std::string>{}, errand::rows_handler{});
  one->text = text_;
  one->read = [weak = weak_from_this()](const result<const rows*>& got) {
    if (const auto self = weak.lock()) self->answered(got);
  };
  to->send(one, inline_work::never);
}

void eviction_watch::answered(const result<const rows*>& got) {
  std::vector<claim_secret> whom;
  {
    const std::lock_guard lock(mutex_);
    if (got && (*got)->size() == 1) {
      const auto now = (*got)->field(0, 0);
      if (count_ != now) whom.assign(holders_.begin(), holders_.end());  // also the first time: since when is not known
      count_ = now;
    }
    plan();
  }
  const std::lock_guard lock(telling_);
  for (const auto& one : whom)
    if (!closed_.load()) events_.look_again(one);
}

}  // namespace interlock::inline v1::sql
