// SPDX-License-Identifier: MIT
#include "backends/sql/waiting_room.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace interlock::inline v1::sql {
namespace {

constexpr std::size_t most_at_once = 256;
constexpr std::uint32_t near_the_front = 3;  // those who may be served next

}  // namespace

waiting_room::waiting_room(const std::shared_ptr<way>& to, question_text ask, backend_events& events, reactor& loop,
                           const time_source& time)
    : way_(to), text_(std::move(ask)), events_(events), loop_(loop), time_(time) {}

// A twentieth, or less, of the time it has waited already, within bounds.
milliseconds waiting_room::pause_of(const guest& one, instant now) {
  const auto waited = std::chrono::duration_cast<milliseconds>(now - one.since);
  return one.upgrading || one.ahead < near_the_front ? std::clamp(waited / 20, milliseconds{10}, milliseconds{100})
                                                     : std::clamp(waited / 10, milliseconds{50}, milliseconds{250});
}

void waiting_room::noted(const question& asked, const standing& as) {
  const bool waits = as.is == standing::kind::waiting;
  if (!waits && count_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  const auto found = guests_.find(asked.about.secret);
  const bool converts = asked.what == question::verb::convert;
  if (!waits) {
    // A reader that waits to be the writer is held all the time.
    const bool still = found != guests_.end() && found->second.upgrading && !converts &&
                       as.is == standing::kind::held && as.mode == lock_mode::shared;
    if (still)
      found->second.called = false;
    else if (found != guests_.end())
      guests_.erase(found);
    count_.store(guests_.size());
    return;
  }
  auto& one = guests_[asked.about.secret];
  if (found == guests_.end() || as.ahead < one.ahead) one.since = time_.now();
  one.at = {std::string(asked.about.name), as.memo};
  one.ahead = as.ahead;
  one.upgrading = converts;
  one.called = false;
  count_.store(guests_.size());
  plan();
}

void waiting_room::forget(const claim_secret& who) {
  if (count_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  guests_.erase(who);
  count_.store(guests_.size());
}

void waiting_room::close() noexcept {
  const std::lock_guard lock(telling_);
  closed_.store(true);
}

// [mutex_] One timer, for whoever is due first.
void waiting_room::plan() {
  if (asking_ || guests_.empty() || closed_.load()) return;
  const auto now = time_.now();
  auto pause = milliseconds::max();
  for (const auto& [who, one] : guests_) pause = std::min(pause, pause_of(one, now));
  if (due_ <= now + pause) return;
  due_ = now + pause;
  loop_.call_at(due_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->ask();
  });
}

void waiting_room::ask() {
  const auto to = way_.lock();
  std::vector<claim_secret> whom;
  std::vector<seat> where;
  {
    const std::lock_guard lock(mutex_);
    if (time_.now() < due_ || asking_ || closed_.load()) return;
    due_ = instant::max();
    for (const auto& [who, one] : guests_) {
      if (one.called || whom.size() == most_at_once) continue;
      whom.push_back(who);
      where.push_back(one.at);
    }
    if (whom.empty()) return plan();
    asking_ = true;
  }
  if (!to) return;
  auto one = std::make_shared<errand>(nullptr, std::vector<std::string>{}, errand::rows_handler{});
  one->text = text_(where);
  one->read = [weak = weak_from_this(), whom = std::move(whom)](const result<const rows*>& got) {
    if (const auto self = weak.lock()) self->answered(whom, got);
  };
  to->send(one, inline_work::never);
}

void waiting_room::answered(const std::vector<claim_secret>& whom, const result<const rows*>& got) {
  std::vector<bool> waits(whom.size(), !got);
  for (std::size_t row = 0; got && row < (*got)->size(); ++row) {
    std::size_t number = 0;
    const auto text = (*got)->field(row, 0);
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (number < waits.size()) waits[number] = true;
  }
  std::vector<claim_secret> called;
  {
    const std::lock_guard lock(mutex_);
    asking_ = false;
    for (std::size_t i = 0; i < whom.size(); ++i) {
      const auto found = guests_.find(whom[i]);
      if (waits[i] || found == guests_.end()) continue;
      found->second.called = true;
      found->second.since = time_.now();
      called.push_back(whom[i]);
    }
    plan();
  }
  const std::lock_guard lock(telling_);
  for (const auto& one : called)
    if (!closed_.load()) events_.look_again(one);
}

}  // namespace interlock::inline v1::sql
