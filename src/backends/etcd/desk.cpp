// SPDX-License-Identifier: MIT
#include "backends/etcd/desk.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::etcd_store {

namespace {
constexpr milliseconds least_tomb{60'000};
constexpr std::size_t most_tombs = 10'000;
}  // namespace

desk::desk(std::shared_ptr<link> along, keyring keys, backend_events& events, reactor& loop, const time_source& time)
    : link_(std::move(along)),
      together_(std::make_shared<bundler>(link_, loop, time)),
      keys_(std::move(keys)),
      events_(events),
      loop_(loop),
      time_(time),
      sessions_(link_, time) {}

void desk::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
  }
  sessions_.close();
  link_->close();
  std::vector<std::deque<unique_function<void(turn)>>> unserved;
  const std::lock_guard lock(mutex_);
  for (auto& [written, book] : names_) unserved.push_back(std::move(book.queue));
}

// ---- one request about a name after the other: etcd's answers overtake each other

void desk::in_turn(const std::string& written, unique_function<void(turn)> work) {
  {
    const std::lock_guard lock(mutex_);
    auto& book = names_[written];
    if (book.busy) {
      book.queue.push_back(std::move(work));
      return;
    }
    book.busy = true;
  }
  work(turn(*this, written));
}

void desk::next(const std::string& written) {
  unique_function<void(turn)> work;
  {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(written);
    if (found == names_.end()) return;
    auto& book = found->second;
    if (book.queue.empty() || closed_) {
      book.busy = false;
      if (book.records.empty() && book.queue.empty()) names_.erase(found);
      return;
    }
    work = std::move(book.queue.front());
    book.queue.pop_front();
  }
  work(turn(*this, written));
}

// ---- records

record_ptr desk::find(const claim_secret& secret) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(secret);
  return found == records_.end() ? nullptr : found->second;
}

record_ptr desk::find_or_make(const claim& who, std::string written) {
  const std::lock_guard lock(mutex_);
  auto& one = records_[who.secret];
  if (one) return one;
  one = std::make_shared<record>();
  one->secret = who.secret;
  one->id = public_id(who.secret);
  one->lease = who.lease;
  one->wait_lease = std::min(who.wait_lease, who.lease);
  one->said.id = one->id;
  one->said.mode = who.mode;
  one->said.weight = who.weight;
  one->said.capacity = who.capacity;
  if (who.mode == lock_mode::shared) one->said.token_is = claim_text::source::fixed;
  one->said.since =
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  one->said.lease = who.lease.count();
  if (who.origin != nullptr) one->said.origin = *who.origin;
  one->written = std::move(written);
  one->ends = instant::max();
  by_id_[one->id] = one;
  names_[one->written].records.push_back(one);
  return one;
}

void desk::forget(const record_ptr& one) {
  const std::lock_guard lock(mutex_);
  forget_locked(one);
}

void desk::forget_locked(const record_ptr& one, bool and_its_key) {
  const auto found = records_.find(one->secret);
  if (found == records_.end() || found->second != one) return;
  records_.erase(found);
  by_id_.erase(one->id);
  if (and_its_key && !one->burnt) keys_in_use_.erase(one->key);
  const auto name = names_.find(one->written);
  if (name == names_.end()) return;
  std::erase(name->second.records, one);
  if (name->second.records.empty() && !name->second.busy) names_.erase(name);
}

// As the concurrency package names it, where it can: two claims of one lease on one name would be one key, and both
// would hold.
void desk::choose_key(record& one) {
  if (!one.key.empty()) return;
  one.key = keys_.claim(one.written, one.full->id);
  if (keys_in_use_.insert(one.key).second) return;
  one.key = keys_.claim(one.written, one.full->id, one.id);
  keys_in_use_.insert(one.key);
}

void desk::bury(const claim_secret& secret, bool evicted, milliseconds lease) {
  const auto now = time_.now();
  if (tombs_.size() >= most_tombs) std::erase_if(tombs_, [&](const auto& each) { return each.second.ends < now; });
  tombs_[secret] = {now + std::max(lease, least_tomb), evicted};
}

std::optional<standing> desk::buried(const claim_secret& secret) {
  const std::lock_guard lock(mutex_);
  const auto found = tombs_.find(secret);
  if (found == tombs_.end()) return {};
  return gone_standing(found->second.evicted);
}

// ---- what answers mean

void desk::adopt(record& one, const key_value& kv) {
  one.created = kv.created;
  one.modified = kv.modified;
  if (auto said = claim_text::read(kv.value)) one.said = said->fixed_by(kv);
  if (one.full && one.full->id == kv.lease)
    one.attached = one.full;
  else if (one.brief && one.brief->id == kv.lease)
    one.attached = one.brief;
  if (one.said.mode == lock_mode::exclusive)
    one.token =
        one.said.token_is == claim_text::source::fixed ? one.said.token : static_cast<std::uint64_t>(kv.created);
  else if (one.said.token != 0)
    one.token = one.said.token;
}

// The answer is of revision `at`; of what was deleted later, the watch may have told already.
void desk::count(record& one, const std::vector<key_value>& before, std::int64_t ahead, bool all, revision at) {
  one.before.clear();
  for (const auto& each : before) one.before.push_back(each.key);
  one.ahead = ahead;
  one.all_known = all;
  one.counted_at = seen_since_ != 0 && seen_since_ <= at && forgotten_at_ <= at ? at : 0;
  if (one.counted_at == 0) return;
  for (const auto& each : recent_)
    if (each.at > at && each.written == one.written) strike_off(one, each.key);
  if (one.before.empty() && !one.all_known) one.counted_at = 0;
}

bool desk::strike_off(record& one, const std::string& key) {
  if (std::erase(one.before, key) == 0) return false;
  one.ahead = std::max<std::int64_t>(one.ahead - 1, static_cast<std::int64_t>(one.before.size()));
  return true;
}

standing desk::held_standing(const record& one, std::int64_t behind) const {
  standing out;
  out.is = standing::kind::held;
  out.mode = one.said.mode;
  out.token = one.token;
  out.tokens = 1;
  out.behind = static_cast<std::uint32_t>(std::max<std::int64_t>(behind, 0));
  out.memo = static_cast<std::uint64_t>(one.created);
  return out;
}

standing desk::waiting_standing(const record& one, std::uint32_t before) const {
  standing out;
  out.is = standing::kind::waiting;
  out.mode = one.said.mode;
  out.ahead = before;
  out.memo = static_cast<std::uint64_t>(one.created);
  return out;
}

standing desk::gone_standing(bool evicted) {
  standing out;
  out.is = standing::kind::gone;
  out.reason = evicted ? standing::cause::evicted : standing::cause::unknown;
  return out;
}

// Counted from the answer, not from the question: whoever believes in the claim has stopped by then.
void desk::keep_until(record& one) {
  one.ends = time_.now() + (one.held ? one.lease : one.wait_lease);
  arm(one.ends);
}

operation desk::note_writer(const std::string& written, const session_ptr& notes) const {
  return put(keys_.last(written), {}, notes->id);
}

void desk::rewrite(const record_ptr& one, const claim_text& said, const session_ptr& to, std::vector<comparison> when,
                   std::vector<operation> also, completion<rewritten> done) {
  transaction what;
  {
    const std::lock_guard lock(mutex_);
    when.push_back(modified_at(one->key, one->modified));
    also.push_back(put(one->key, said.text(), to->id));
    what = {std::move(when), std::move(also), {get(one->key)}};
  }
  link_->commit(what, [self = shared_from_this(), one, said, to, done = std::move(done)](result<outcome> got) mutable {
    if (!got) return done(got.error());
    rewritten out{.done = got->met, .at = got->at};
    if (got->met) {
      const std::lock_guard lock(self->mutex_);
      key_value now{one->key, said.text(), one->created, got->at, to->id};
      self->adopt(*one, now);
    } else if (!got->answers.at(0).found.empty()) {
      out.found = std::move(got->answers[0].found[0]);
    }
    done(std::move(out));
  });
}

void desk::admit(const record_ptr& one, completion<bool> done) {
  claim_text said;
  bool needed = false;
  {
    const std::lock_guard lock(mutex_);
    needed = one->attached != one->full || (one->said.mode == lock_mode::shared && one->said.token == 0);
    said = one->said;
    if (said.mode == lock_mode::shared) {
      said.token_is = claim_text::source::fixed;
      said.token = one->token;
    }
  }
  if (!needed) return done(true);
  rewrite(one, said, one->full, {}, {}, [done = std::move(done)](result<rewritten> got) mutable {
    if (!got) return done(got.error());
    done(got->done);
  });
}

}  // namespace interlock::inline v1::etcd_store
