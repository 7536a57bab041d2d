// SPDX-License-Identifier: MIT
#include "backends/memcached/locks.hpp"

#include "core/claim_book.hpp"
#include "net/scratch.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace interlock::inline v1::memcached_store {
namespace {

using word = meta_reply::word;

constexpr int most_tries = 3;
constexpr std::size_t most_spare = 64;

std::uint64_t wall_micros() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<microseconds>(system_clock::now().time_since_epoch()).count());
}

std::uint64_t counted(const meta_reply& said) {
  std::uint64_t out = 0;
  std::from_chars(said.data.data(), said.data.data() + said.data.size(), out);
  return said.is == word::value ? out : 0;
}

failure refused(const meta_reply& said) {
  const bool denied = said.data.find("unauth") != said.data.npos;
  const bool room = said.data.starts_with("SERVER_ERROR");  // out of memory, mostly: nothing was stored
  return failure(denied ? errc::denied
                 : room ? errc::unavailable
                        : errc::unsupported,
                 "memcached says: " + std::string(said.data.substr(0, 200)));
}

standing held(std::uint64_t token, std::uint32_t tokens) {
  standing out;
  out.is = standing::kind::held;
  out.token = token;
  out.tokens = tokens;
  // Others may be waiting whom nobody can see: the lock is given back between any two of our callers, so that it does
  // not stay in this process for ever.
  out.behind = 1;
  return out;
}

standing gone(bool evicted) {
  standing out;
  out.reason = evicted ? standing::cause::evicted : standing::cause::unknown;
  return out;
}

// Somebody else has it, for so long at most.
standing not_now(entry how, const meta_reply& seen) {
  standing out;
  out.is = how == entry::queue ? standing::kind::waiting : standing::kind::busy;
  out.look_again_in = milliseconds(std::max<std::int64_t>(seen.left * 1000, 1));
  return out;
}

void describe(const record& from, claim_info& out) {
  out.id = public_id(from.secret);
  if (from.token != 0) out.token = fencing_token(from.token);
  out.host = from.from.host;
  out.program = from.from.program;
  out.purpose = from.from.purpose;
  out.pid = from.from.pid;
  if (from.since != 0)
    out.age = milliseconds(std::max<std::int64_t>(static_cast<std::int64_t>(wall_micros() / 1000) - from.since, 0));
}

std::uint32_t wanted(const claim& who) { return std::max<std::uint32_t>(who.tokens, 1); }

}  // namespace

locks::locks(std::shared_ptr<way> to, layout as, const time_source& time, claim_origin own)
    : way_(std::move(to)), layout_(as), time_(time), own_(std::move(own)) {}

std::int64_t locks::write(std::string& to, const claim& who, const known* before) const {
  record_head mine{.secret = who.secret};
  mine.token = before != nullptr ? before->token : 0;
  mine.since = before != nullptr ? before->since : static_cast<std::int64_t>(wall_micros() / 1000);
  layout_.write(to, mine, who.origin != nullptr ? *who.origin : own_);
  return mine.since;
}

// ---- entering

void locks::enter(const claim& who, entry how, inline_work here, completion<standing> done) {
  if (who.mode == lock_mode::shared || who.capacity != lock_capacity)
    return done(failure(errc::unsupported, "memcached has exclusive locks only"));
  if (auto good = layout_.check(who.name); !good) return done(good.error());
  const auto [before, buried] = recall(who.secret);
  if (buried) return done(gone(false));
  if (before && before->is != known::state::waiting) return create_or_find(who, how, here, std::move(done));
  create(who, how, here, std::move(done));
}

// Creates and takes a token, in one flight. The token comes after the lock, so of two holders the later one has the
// higher.
void locks::create(const claim& who, entry how, inline_work here, completion<standing> done) {
  net::scratch value, commands;
  const auto since = write(*value, who, nullptr);
  meta::create(*commands, layout_.key(who.name), *value, expiry_of(who.lease), layout_.flags());
  const bool bare = layout_.is_bare();
  if (!bare) meta::count(*commands, token_key(who.name), wanted(who), wall_micros());
  way_->send(*commands, bare ? 1 : 2, here,
             [self = shared_from_this(), who, how, since, done = std::move(done)](const result<replies>& got) mutable {
               if (!got) {
                 if (got.error() == errc::indeterminate) self->remember(who, {.is = known::state::doubtful});
                 return done(got.error());
               }
               const auto &made = got->front(), &token = got->back();
               if (made.is == word::error) return done(refused(made));
               if (made.is != word::done) {
                 if (how == entry::queue) self->remember(who, {.is = known::state::waiting});
                 return done(not_now(how, {}));
               }
               known now{.is = known::state::held, .cas = made.cas, .tokens = 0, .since = since};
               if (!self->layout_.is_bare()) {
                 if (counted(token) == 0) return done(refused(token));
                 now.tokens = wanted(who);
                 now.token = counted(token) - (now.tokens - 1);
               }
               self->remember(who, now);
               done(held(now.token, now.tokens));
             });
}

// The same where it may be there already, because an answer was lost: reads what there is.
void locks::create_or_find(const claim& who, entry how, inline_work here, completion<standing> done) {
  const auto key = layout_.key(who.name);
  net::scratch value, commands;
  const auto since = write(*value, who, nullptr);
  meta::create(*commands, key, *value, expiry_of(who.lease), layout_.flags());
  meta::read(*commands, key);
  if (!layout_.is_bare()) meta::count(*commands, token_key(who.name), wanted(who), wall_micros());
  way_->send(*commands, layout_.is_bare() ? 2 : 3, here,
             [self = shared_from_this(), who, how, since, done = std::move(done)](const result<replies>& got) mutable {
               if (!got) return done(got.error());
               const auto &made = (*got)[0], &seen = (*got)[1], &token = got->back();
               const bool bare = self->layout_.is_bare();
               if (made.is == word::error) return done(refused(made));
               const auto theirs = seen.is == word::value ? self->layout_.read(seen.data) : std::nullopt;
               const bool ours = theirs && theirs->secret == who.secret;
               if (ours && theirs->evicted) {
                 self->forget(who.secret);
                 return done(gone(true));
               }
               if (made.is == word::done || ours) {
                 const bool again = made.is != word::done;
                 known now{.is = known::state::held, .cas = again ? seen.cas : made.cas};
                 now.tokens = bare ? 0 : wanted(who);
                 if (!bare) now.token = counted(token) - (now.tokens - 1);
                 now.since = since;
                 if (const auto before = self->recall(who.secret).first;
                     again && before && before->is == known::state::held) {
                   now.token = before->token;
                   now.tokens = before->tokens;
                 }
                 if (!bare && counted(token) == 0) return done(refused(token));
                 self->remember(who, now);
                 return done(held(now.token, now.tokens));
               }
               if (how == entry::queue) self->remember(who, {.is = known::state::waiting});
               done(not_now(how, seen));
             });
}

// ---- looking

void locks::look(const claim& who, inline_work here, completion<standing> done) {
  const auto before = recall(who.secret).first;
  if (before && before->is == known::state::waiting) return create(who, entry::queue, here, std::move(done));
  if (before && before->is == known::state::held) return renew(who, before->cas, 1, here, std::move(done));
  find_and_renew(who, 1, here, std::move(done));
}

// Written anew with a new end, if nobody has changed it; what is there instead comes in the same flight.
void locks::renew(const claim& who, std::uint64_t cas, int tries, inline_work here, completion<standing> done) {
  const auto key = layout_.key(who.name);
  const auto before = recall(who.secret).first;
  net::scratch value, commands;
  static_cast<void>(write(*value, who, before ? &*before : nullptr));
  meta::replace(*commands, key, *value, expiry_of(who.lease), layout_.flags(), cas);
  meta::read(*commands, key);
  const bool more = who.tokens > 1 && !layout_.is_bare();
  if (more) meta::count(*commands, token_key(who.name), wanted(who), wall_micros());
  way_->send(*commands, more ? 3 : 2, here,
             [self = shared_from_this(), who, before, tries, here, more,
              done = std::move(done)](const result<replies>& got) mutable {
               if (!got) return done(got.error());
               const auto& written = (*got)[0];
               if (written.is == word::error) return done(refused(written));
               if (written.is == word::done) {
                 auto now = before.value_or(known{});
                 now.is = known::state::held;
                 now.cas = written.cas;
                 if (more) {
                   now.tokens = wanted(who);
                   now.token = counted((*got)[2]) - (now.tokens - 1);
                 }
                 self->remember(who, now);
                 return done(held(now.token, now.token == 0 ? 0 : now.tokens));
               }
               const auto& seen = (*got)[1];
               const auto theirs = seen.is == word::value ? self->layout_.read(seen.data) : std::nullopt;
               const bool ours = theirs && theirs->secret == who.secret;
               if (ours && !theirs->evicted && tries < most_tries)  // the answer to an earlier one was lost
                 return self->renew(who, seen.cas, tries + 1, here, std::move(done));
               self->forget(who.secret);
               done(gone(ours && theirs->evicted));
             });
}

void locks::find_and_renew(const claim& who, int tries, inline_work here, completion<standing> done) {
  read(who.name, here,
       [self = shared_from_this(), who, tries, here, done = std::move(done)](const result<replies>& got) mutable {
         if (!got) return done(got.error());
         const auto& seen = got->front();
         if (seen.is == word::error) return done(refused(seen));
         const auto theirs = seen.is == word::value ? self->layout_.read(seen.data) : std::nullopt;
         if (!theirs || theirs->secret != who.secret) return done(gone(false));
         if (theirs->evicted) return done(gone(true));
         self->renew(who, seen.cas, tries + 1, here, std::move(done));
       });
}

// ---- leaving

void locks::leave(const claim& who, finality how, inline_work here, completion<departure> done) {
  const auto before = recall(who.secret).first;
  if (how == finality::final) bury(who);
  if (before && before->is == known::state::held) return remove(who, before->cas, 1, here, std::move(done));
  const bool waited = before && before->is == known::state::waiting;
  if (before) forget(who.secret);
  // What it asked last may have been granted, and the answer lost.
  find_and_remove(who, 1, here, [waited, done = std::move(done)](result<departure> got) mutable {
    if (got && *got == departure::gone && waited) return done(departure::left);
    done(std::move(got));
  });
}

void locks::remove(const claim& who, std::uint64_t cas, int tries, inline_work here, completion<departure> done) {
  net::scratch commands;
  meta::remove(*commands, layout_.key(who.name), cas);
  way_->send(*commands, 1, here,
             [self = shared_from_this(), who, tries, here, done = std::move(done)](const result<replies>& got) mutable {
               if (!got) return done(got.error());
               const auto& removed = got->front();
               if (removed.is == word::error) return done(refused(removed));
               // Changed: by somebody else, or by a renewal of ours whose answer was lost.
               if (removed.is == word::changed && tries < most_tries)
                 return self->find_and_remove(who, tries, here, std::move(done));
               self->forget(who.secret);
               done(removed.is == word::done ? departure::released : departure::gone);
             });
}

void locks::find_and_remove(const claim& who, int tries, inline_work here, completion<departure> done) {
  read(who.name, here,
       [self = shared_from_this(), who, tries, here, done = std::move(done)](const result<replies>& got) mutable {
         if (!got) return done(got.error());
         const auto& seen = got->front();
         if (seen.is == word::error) return done(refused(seen));
         const auto theirs = seen.is == word::value ? self->layout_.read(seen.data) : std::nullopt;
         if (!theirs || theirs->secret != who.secret) {
           self->forget(who.secret);
           return done(departure::gone);
         }
         self->remove(who, seen.cas, tries + 1, here, std::move(done));
       });
}

// ---- onlookers

void locks::show(const std::string& name, completion<survey_page> done) {
  read(name, inline_work::never,
       [self = shared_from_this(), name, done = std::move(done)](const result<replies>& got) mutable {
         if (!got) return done(got.error());
         const auto& seen = got->front();
         if (seen.is == word::error) return done(refused(seen));
         survey_page out;
         const auto theirs = seen.is == word::value ? self->layout_.read(seen.data) : std::nullopt;
         claim_info holder;
         if (!theirs) {
           if (seen.is != word::value || !self->layout_.is_bare()) return done(std::move(out));
           holder.program = seen.data;  // a member of tooz'
         }
         if (theirs) describe(*theirs, holder);
         holder.lease_left = std::chrono::seconds(std::max<std::int64_t>(seen.left, 0));
         lock_info one;
         one.name = name;
         one.holders.push_back(std::move(holder));
         out.locks.push_back(std::move(one));
         done(std::move(out));
       });
}

void locks::evict(const std::string& name, const claim_id& who, bool force, completion<bool> done) {
  if (layout_.is_bare() && !force)
    return done(
        failure(errc::unsupported, "tooz has no mark for an evicted holder: its lock can be removed by force only"));
  read(name, inline_work::never,
       [self = shared_from_this(), key = layout_.key(name), who, force,
        done = std::move(done)](const result<replies>& got) mutable {
         if (!got) return done(got.error());
         const auto& seen = got->front();
         if (seen.is == word::error) return done(refused(seen));
         auto theirs = seen.is == word::value ? self->layout_.read(seen.data) : std::nullopt;
         if (!theirs || theirs->evicted || public_id(theirs->secret) != who) return done(false);
         theirs->evicted = true;
         net::scratch value, commands;
         self->layout_.write(*value, *theirs, theirs->from);
         if (force)
           meta::remove(*commands, key, seen.cas);
         else
           meta::replace(*commands, key, *value, std::max<std::int64_t>(seen.left, 1), 0, seen.cas);
         self->way_->send(*commands, 1, inline_work::never,
                          [done = std::move(done)](const result<replies>& ended) mutable {
                            if (!ended) return done(ended.error());
                            if (ended->front().is == word::error) return done(refused(ended->front()));
                            done(ended->front().is == word::done);
                          });
       });
}

// ---- what is remembered

void locks::read(std::string_view name, inline_work here, replies_handler done) {
  net::scratch commands;
  meta::read(*commands, layout_.key(name));
  way_->send(*commands, 1, here, std::move(done));
}

void locks::bury(const claim& who) {
  const auto now = time_.now();
  const std::lock_guard lock(mutex_);
  std::erase_if(graves_, [&](const auto& one) { return one.second < now; });
  graves_[who.secret] = now + std::max(who.lease, core::tomb_time);
}

std::pair<std::optional<locks::known>, bool> locks::recall(const claim_secret& who) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(who);
  if (found == known_.end()) return {std::nullopt, graves_.contains(who)};
  return {found->second, graves_.contains(who)};
}

void locks::remember(const claim& who, known what) {
  const auto now = time_.now();
  what.ends = now + 2 * who.lease + std::chrono::minutes(1);
  const std::lock_guard lock(mutex_);
  if (const auto found = known_.find(who.secret); found != known_.end()) {
    found->second = what;
  } else if (spare_.empty()) {
    known_.emplace(who.secret, what);
  } else {
    auto again = std::move(spare_.back());
    spare_.pop_back();
    again.key() = who.secret;
    again.mapped() = what;
    known_.insert(std::move(again));
  }
  if (known_.size() < sweep_at_) return;
  std::erase_if(known_, [&](const auto& one) { return one.second.ends < now; });
  sweep_at_ = std::max<std::size_t>(1024, 2 * known_.size());
}

void locks::forget(const claim_secret& who) {
  const std::lock_guard lock(mutex_);
  auto was = known_.extract(who);
  if (was && spare_.size() < most_spare) spare_.push_back(std::move(was));
}

}  // namespace interlock::inline v1::memcached_store
