// SPDX-License-Identifier: MIT
#include "backends/sql/session_locks.hpp"

#include "core/claim_book.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::sql {
namespace {

constexpr milliseconds least_patience{5'000};  // of the server: a pause of ours must not cost a session
constexpr std::size_t idle_most = 64;          // keys that nobody has, kept for the next time

standing is_held(bool shared) {
  standing out;
  out.is = standing::kind::held;
  out.mode = shared ? lock_mode::shared : lock_mode::exclusive;
  // Others may be waiting whom nobody can see: the lock is given back between any two of our callers, so that it does
  // not stay in this process for ever.
  out.behind = 1;
  return out;
}

standing is(standing::kind what) {
  standing out;
  out.is = what;
  return out;
}

}  // namespace

session_locks::session_locks(std::unique_ptr<session_words> words, const backend_environment& environment)
    : words_(std::move(words)), loop_(environment.loop), time_(environment.time), events_(environment.events) {}

void session_locks::send(session_words::statement&& what, inline_work here, errand::rows_handler&& done) {
  way_->send(std::make_shared<errand>(what.name, std::move(what.parameters), std::move(done)), here);
}

// What the server says about one lock. A session that is not ours any more is given up, with what we had in it.
result<bool> session_locks::read(const result<const rows*>& got, std::size_t row) {
  if (!got) return got.error();
  auto said = words_->read(**got, row);
  if (!said && said.error() == errc::unsupported) loop_.post([to = way_, why = said.error()] { to->give_up(why); });
  return said;
}

// ---- entering

void session_locks::enter(const claim& who, entry how, inline_work here, completion<standing> done) {
  if (who.capacity != lock_capacity) return done(failure(errc::unsupported, "locks of a session have no permits"));
  have_patience(who.lease);
  session_words::statement question;
  if (auto at_once = note(who, how, question)) return done(std::move(*at_once));
  send(std::move(question), here,
       [self = shared_from_this(), secret = who.secret, done = std::move(done)](
           const result<const rows*>& got) mutable { self->answered(secret, self->read(got, 0), std::move(done)); });
}

// How it stands, as far as this is known here; nothing: the server has to be asked.
std::optional<result<standing>> session_locks::note(const claim& who, entry how, session_words::statement& question) {
  const std::lock_guard lock(mutex_);
  if (graves_.contains(who.secret)) return is(standing::kind::gone);
  const auto at = room_of(who.name);
  if (!at) return at.error();
  const auto [found, fresh] = claims_.try_emplace(who.secret);
  auto& one = found->second;
  if (!fresh && one.is == known::state::held) return is_held(one.shared);
  if (!fresh && one.is == known::state::asking) return failure(errc::indeterminate, "it is being asked for");
  one.at = *at;
  one.shared = who.mode == lock_mode::shared;
  one.queues = how == entry::queue;
  one.lease = who.lease;
  one.wait_lease = who.wait_lease;
  auto out = answer_here(found);
  if (!out) question = words_->lock(one.at->key, one.shared);
  return out;
}

// [mutex_] Somebody of this client is in the way: how it stands. Nothing: the server has to be asked.
std::optional<result<standing>> session_locks::answer_here(claim_map::iterator which) {
  auto& [who, one] = *which;
  if (occupy(one)) {
    one.at->waiting.erase(who);
    one.is = known::state::asking;
    return {};
  }
  if (!one.queues) {
    forget(which);
    return is(standing::kind::busy);
  }
  wait(who, one);
  return is(standing::kind::waiting);
}

// [mutex_] A failure: such a name cannot be locked.
result<session_locks::room*> session_locks::room_of(std::string_view name) {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  auto key = words_->key_of(name);
  if (!key) return key.error();
  auto& one = rooms_[*key];
  one.key = std::move(*key);
  one.names.emplace_back(name);
  names_.emplace(name, &one);
  return &one;
}

// [mutex_] A few are kept for the next time.
void session_locks::tidy(room& one) {
  if (!one.is_empty() || rooms_.size() <= idle_most) return;
  for (const auto& name : one.names) names_.erase(name);
  rooms_.erase(std::string(one.key));
}

// [mutex_] false: somebody of this client is in the way.
bool session_locks::occupy(const known& one) {
  auto& there = *one.at;
  if (there.writers > 0 || (there.readers > 0 && !one.shared)) return false;
  ++(one.shared ? there.readers : there.writers);
  return true;
}

// [mutex_]
void session_locks::vacate(const known& one) { --(one.shared ? one.at->readers : one.at->writers); }

// [mutex_]
void session_locks::wait(const claim_secret& who, known& one) {
  one.is = known::state::waiting;
  one.ends = time_.now() + one.wait_lease;
  one.at->waiting.insert(who);
}

// [mutex_] One that neither has the key nor asks for it.
void session_locks::forget(claim_map::iterator which) {
  auto& there = *which->second.at;
  there.waiting.erase(which->first);
  claims_.erase(which);
  tidy(there);
}

// [mutex_] One that holds. What is sent from now on comes behind the unlock, so whoever comes from now on need not wait
// for it.
session_locks::parting session_locks::part(claim_map::iterator which) {
  auto& one = which->second;
  auto& there = *one.at;
  parting out{.unlock = words_->unlock(there.key, one.shared),
              .waiting = {there.waiting.begin(), there.waiting.end()},
              .leaver = std::move(one.leaver)};
  vacate(one);
  forget(which);
  return out;
}

void session_locks::answered(const claim_secret& who, const result<bool>& got, completion<standing> done) {
  std::vector<parting> undo;
  auto as = settle(who, got, undo);
  done(std::move(as));
  put_right(std::move(undo));
}

// What was left while it was being asked for.
void session_locks::put_right(std::vector<parting> left) {
  for (auto& one : left) {
    if (one.unlock.name != nullptr)
      unlock(std::move(one), inline_work::never);
    else if (one.leaver)
      one.leaver(departure::left);
  }
}

// What the answer makes of a claim. `undo`: it was left meanwhile.
result<standing> session_locks::settle(const claim_secret& who, const result<bool>& got, std::vector<parting>& undo) {
  const std::lock_guard lock(mutex_);
  const auto found = claims_.find(who);
  if (found == claims_.end()) {  // with its session, by way of session_ended
    if (!got) return got.error();
    return is(standing::kind::gone);
  }
  auto& one = found->second;
  if (got && *got) {
    if (one.left) {
      undo.push_back(part(found));
      return is(standing::kind::gone);
    }
    one.is = known::state::held;
    one.ends = time_.now() + one.lease;
    expire_at(one.ends);
    return is_held(one.shared);
  }
  vacate(one);
  if (got && one.queues && !one.left) {
    wait(who, one);
    return is(standing::kind::waiting);
  }
  const bool left = one.left;
  if (left) undo.push_back({.leaver = std::move(one.leaver)});
  forget(found);
  if (!got) return got.error();
  return is(left ? standing::kind::gone : standing::kind::busy);
}

// ---- looking

/// Claims that are looked at together, and those of them the server is asked about.
struct session_locks::round {
  standings answers;
  std::vector<std::pair<std::size_t, claim_secret>> asked;
  std::vector<session_words::wish> wishes;
  completion<standings> done;
  void ask(std::size_t at, const claim_secret& who, session_words::wish what) {
    asked.emplace_back(at, who);
    wishes.push_back(what);
  }
};

void session_locks::look(std::span<const claim> whom, inline_work here, completion<standings> done) {
  const auto all = std::make_shared<round>();
  all->answers.assign(whom.size(), is(standing::kind::gone));
  const auto now = time_.now();
  bool due = false;
  session_words::statement question;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < whom.size(); ++i) {
      const auto& secret = whom[i].secret;
      const auto found = claims_.find(secret);
      if (found == claims_.end()) continue;
      auto& one = found->second;
      if (one.is == known::state::asking) {
        all->answers[i] = failure(errc::indeterminate, "it is being asked for");
      } else if (one.ends < now) {
        due = true;  // its lease has run out: it is on its way out
        if (one.is == known::state::waiting) forget(found);
      } else if (one.is == known::state::held) {
        all->answers[i] = is_held(one.shared);
        all->ask(i, secret, {});
      } else {
        if (auto at_once = answer_here(found))
          all->answers[i] = std::move(*at_once);
        else
          all->ask(i, secret, {&one.at->key, one.shared});
      }
    }
    if (!all->asked.empty()) question = words_->lock_all(all->wishes);
  }
  if (due) expire();
  if (all->asked.empty()) return done(std::move(all->answers));
  all->done = std::move(done);
  send(std::move(question), here, [self = shared_from_this(), all](const result<const rows*>& got) {
    std::vector<parting> undo;
    for (std::size_t row = 0; row < all->asked.size(); ++row) {
      const auto& [at, secret] = all->asked[row];
      const auto said = self->read(got, row);
      const bool was_held = all->answers[at] && all->answers[at]->is == standing::kind::held;
      all->answers[at] = was_held ? self->confirm(secret, said) : self->settle(secret, said, undo);
    }
    all->done(std::move(all->answers));
    self->put_right(std::move(undo));
  });
}

// A renewal counts from when the server was heard.
result<standing> session_locks::confirm(const claim_secret& who, const result<bool>& got) {
  if (!got) return got.error();
  const std::lock_guard lock(mutex_);
  const auto found = claims_.find(who);
  if (found == claims_.end()) return is(standing::kind::gone);
  found->second.ends = time_.now() + found->second.lease;
  return is_held(found->second.shared);
}

// ---- leaving

void session_locks::leave(const claim& who, finality how, inline_work here, completion<departure> done) {
  parting was;
  bool known_here = false;
  {
    const std::lock_guard lock(mutex_);
    if (how == finality::final) bury(who);
    const auto found = claims_.find(who.secret);
    known_here = found != claims_.end();
    if (known_here && found->second.is == known::state::asking) {
      found->second.left = true;
      found->second.leaver = std::move(done);
      return;
    }
    if (known_here && found->second.is == known::state::held)
      was = part(found);
    else if (known_here)
      forget(found);
  }
  if (was.unlock.name == nullptr) return done(known_here ? departure::left : departure::gone);
  was.leaver = std::move(done);
  unlock(std::move(was), here);
}

// Those of this client who wait for it need not wait for their next look.
void session_locks::unlock(parting one, inline_work here) {
  send(std::move(one.unlock), here,
       [self = shared_from_this(), waiting = std::move(one.waiting),
        done = std::move(one.leaver)](const result<const rows*>& got) mutable {
         const auto said = self->read(got, 0);
         for (const auto& each : waiting) self->events_.look_again(each);
         if (!done) return;
         if (!said) return done(said.error());
         done(*said ? departure::released : departure::gone);
       });
}

// [mutex_]
void session_locks::bury(const claim& who) {
  const auto now = time_.now();
  std::erase_if(graves_, [&](const auto& one) { return one.second < now; });
  graves_[who.secret] = now + std::max(who.lease, core::tomb_time);
}

// ---- time, and the end

// The server ends a session that says nothing for longer than any of its leases: not before a holder that is cut off
// has given up, and not hours later.
void session_locks::have_patience(milliseconds lease) {
  if (lease <= patience_.load(std::memory_order_relaxed)) return;
  milliseconds wanted{};
  bool ping = false;
  {
    const std::lock_guard lock(mutex_);
    if (lease <= patience_.load()) return;
    patience_ = wanted = std::max(lease, least_patience);
    ping = !std::exchange(pinging_, true);
  }
  send(words_->end_when_silent_for(wanted), inline_work::if_brief,
       [weak = weak_from_this()](const result<const rows*>& got) {
         if (const auto self = weak.lock(); self && !got) {
           const std::lock_guard lock(self->mutex_);
           self->patience_ = milliseconds{0};
         }
       });
  if (ping) ping_later(wanted / 3);
}

void session_locks::ping_later(milliseconds pause) {
  loop_.call_at(time_.now() + pause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    milliseconds next{};
    {
      const std::lock_guard lock(self->mutex_);
      next = self->patience_.load() / 3;
      if (next == milliseconds{0}) self->pinging_ = false;
    }
    if (next == milliseconds{0}) return;
    const session_words::wish nothing;
    self->send(self->words_->lock_all({&nothing, 1}), inline_work::never, [](const result<const rows*>&) {});
    self->ping_later(next);
  });
}

// [mutex_]
void session_locks::expire_at(instant when) {
  if (expire_at_ <= when) return;
  expire_at_ = when;
  loop_.call_at(when + milliseconds{1}, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->expire();
  });
}

// A claim that was not renewed is let go of, as a server with leases would.
void session_locks::expire() {
  const auto now = time_.now();
  std::vector<parting> ended;
  {
    const std::lock_guard lock(mutex_);
    expire_at_ = instant::max();
    auto next = instant::max();
    for (auto each = claims_.begin(); each != claims_.end();) {
      const auto one = each++;
      const auto& what = one->second;
      const bool over = what.ends < now;
      if (what.is == known::state::held && over)
        ended.push_back(part(one));
      else if (what.is == known::state::held)
        next = std::min(next, what.ends);
      else if (what.is == known::state::waiting && over)
        forget(one);
    }
    if (next != instant::max()) expire_at(next);
  }
  for (auto& one : ended) unlock(std::move(one), inline_work::never);
}

void session_locks::session_ended() {
  std::vector<claim_secret> lost;
  std::vector<completion<departure>> leavers;
  {
    const std::lock_guard lock(mutex_);
    patience_ = milliseconds{0};
    for (auto each = claims_.begin(); each != claims_.end();) {
      const auto one = each++;
      if (one->second.is == known::state::waiting) continue;
      if (one->second.leaver) leavers.push_back(std::move(one->second.leaver));
      lost.push_back(one->first);
      vacate(one->second);
      forget(one);
    }
  }
  for (auto& one : leavers) one(departure::gone);
  for (const auto& one : lost) events_.look_again(one);
}

// ---- onlookers

void session_locks::show(const std::string& name, completion<survey_page> done) {
  const auto key = words_->key_of(name);
  if (!key) return done(key.error());
  way_->send(words_->show(name, *key, std::move(done)), inline_work::never);
}

void session_locks::examine(completion<std::vector<store_check>> done) {
  way_->send(words_->examine(std::move(done)), inline_work::never);
}

}  // namespace interlock::inline v1::sql
