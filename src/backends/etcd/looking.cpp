// SPDX-License-Identifier: MIT
#include "backends/etcd/desk.hpp"
#include "backends/etcd/upgrade_plan.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

/// look: the leases are renewed and the keys are read, both at once. A renewal alone would not do: it says nothing
/// about the key, and a member that has lost its majority without knowing may still confirm it. A read it cannot.
namespace interlock::inline v1::etcd_store {

namespace {
constexpr std::size_t most_reads = 100;  // etcd takes 128 operations at once
}

struct desk::look_job : std::enable_shared_from_this<look_job> {
  struct question {
    record_ptr one{};
    std::uint32_t tokens = 1;
    std::size_t chunk = 0, first = 0;  // where its answers are
    bool counted = false;              // asked for the number of keys, not for all
    bool whole_line = false;
    bool before = false;   // asked for the keys before it
    bool renewed = false;  // written again, for a fresh token, if nobody waits
    session_ptr with{};
    result<standing> answer = failure(errc::internal, "not looked at");
  };

  explicit look_job(std::shared_ptr<desk> at, completion<standings> then)
      : home(std::move(at)), done(std::move(then)) {}

  std::shared_ptr<desk> home;
  completion<standings> done;
  std::vector<question> questions{};
  std::vector<transaction> reads{};

  std::mutex mutex{};
  std::size_t open = 1;
  std::vector<std::optional<result<outcome>>> read{};
  struct renewal {
    session_ptr of{};
    milliseconds lease{};
    std::optional<result<bool>> got{};
  };
  std::vector<renewal> renewals{};

  void add(const claim& who);
  void ask_about(question& to);
  bool ask_for_token(question& to);
  void renew(const session_ptr& which, milliseconds lease);
  void send();
  void arrived();
  void judge_all();
  void judge(question& about, const std::shared_ptr<look_job>& self);
  std::optional<standing> stands(question& about, const outcome& got);
  void served(question& about, std::int64_t behind, const std::shared_ptr<look_job>& self);
  void fresh_token(question& about, std::int64_t behind, const std::shared_ptr<look_job>& self);
  void upgrade(question& about, const line& all, revision at, const std::shared_ptr<look_job>& self);
  void gone(question& about, bool evicted);
  void over();
};

void desk::look(std::span<const claim> whom, completion<standings> done) {
  const auto job = std::make_shared<look_job>(shared_from_this(), std::move(done));
  job->questions.reserve(whom.size());
  for (const auto& who : whom) job->add(who);
  job->send();
}

void desk::look_job::add(const claim& who) {
  auto& to = questions.emplace_back();
  to.tokens = who.tokens;
  to.one = home->find(who.secret);
  if (!to.one) {
    to.answer = home->buried(who.secret).value_or(gone_standing(false));
    return;
  }
  const std::lock_guard lock(home->mutex_);
  if (to.one->created == 0 || !to.one->attached) {
    to.answer = failure(errc::unavailable, "etcd: not entered yet");
    to.one.reset();
    return;
  }
  to.with = to.one->attached;
  renew(to.with, to.with == to.one->full ? to.one->lease : to.one->wait_lease);
  if (!ask_for_token(to)) ask_about(to);
}

// What fresh_token() would do after a look, in the same transaction as the look.
bool desk::look_job::ask_for_token(question& to) {
  const auto& one = *to.one;
  const auto notes = home->sessions_.notes_at_hand();
  if (to.tokens <= 1 || !one.held || one.said.mode != lock_mode::exclusive || !one.whole() ||
      one.attached != one.full || one.said.state != claim_text::condition::usual || !notes)
    return false;
  const auto all = home->keys_.claims(one.written);
  auto said = one.said;
  said.token_is = claim_text::source::modified;
  to.renewed = to.counted = true;
  to.chunk = reads.size();
  reads.push_back({{modified_at(one.key, one.modified), none_younger(all, one.created)},
                   {put(one.key, said.text(), one.full->id), home->note_writer(one.written, notes)},
                   {get(one.key), etcd_store::count(all)}});
  return true;
}

void desk::look_job::ask_about(question& to) {
  const auto& one = *to.one;
  const auto all = home->keys_.claims(one.written);
  if (reads.empty() || !reads.back().when.empty() || reads.back().then.size() + 2 > most_reads) reads.emplace_back();
  to.chunk = reads.size() - 1;
  auto& ops = reads.back().then;
  to.first = ops.size();
  ops.push_back(get(one.key));
  if (one.upgrading() || !one.whole()) {
    to.whole_line = true;
    ops.push_back(get_all(all));
  } else if (one.held) {
    to.counted = true;
    ops.push_back(etcd_store::count(all));
  } else {
    to.before = true;
    auto older = get_youngest(all, one.counted_at != 0 ? 1 : most_known);  // if they are known, one is enough to see
    older.keys_only = true;                                                // that it is not our turn
    older.created_until = one.created - 1;
    ops.push_back(std::move(older));
  }
}

void desk::look_job::renew(const session_ptr& which, milliseconds lease) {
  for (auto& each : renewals)
    if (each.of == which) {
      each.lease = std::max(each.lease, lease);
      return;
    }
  renewals.push_back({which, lease, {}});
}

void desk::look_job::send() {
  const auto self = shared_from_this();
  read.resize(reads.size());
  open = 1 + reads.size() + renewals.size();
  for (std::size_t i = 0; i < renewals.size(); ++i)
    home->sessions_.refresh(renewals[i].of, renewals[i].lease, [self, i](result<bool> got) {
      {
        const std::lock_guard lock(self->mutex);
        self->renewals[i].got.emplace(std::move(got));
      }
      self->arrived();
    });
  for (std::size_t i = 0; i < reads.size(); ++i)
    home->link_->commit(reads[i], [self, i](result<outcome> got) {
      {
        const std::lock_guard lock(self->mutex);
        self->read[i].emplace(std::move(got));
      }
      self->arrived();
    });
  arrived();
}

void desk::look_job::arrived() {
  {
    const std::lock_guard lock(mutex);
    if (--open > 0) return;
    open = 1;
  }
  judge_all();
}

// Some need another transaction before they can be answered; the last one to be answered answers for all.
void desk::look_job::judge_all() {
  const auto self = shared_from_this();
  for (auto& each : questions)
    if (each.one) judge(each, self);
  over();
}

void desk::look_job::over() {
  {
    const std::lock_guard lock(mutex);
    if (--open > 0) return;
  }
  standings all;
  all.reserve(questions.size());
  for (auto& each : questions) all.push_back(std::move(each.answer));
  auto last = std::exchange(done, {});
  last(std::move(all));
}

void desk::look_job::gone(question& about, bool evicted) {
  about.answer = gone_standing(evicted || about.one->evicted);
  const std::lock_guard lock(home->mutex_);
  // Evicted gently, its key stays until its lease is over: so the record must.
  if (!evicted || about.one->said.state == claim_text::condition::over) home->forget_locked(about.one);
}

void desk::look_job::judge(question& about, const std::shared_ptr<look_job>& self) {
  const auto& one = about.one;
  const auto& got = *read[about.chunk];
  if (!got) {
    about.answer = got.error();
    if (about.renewed && got.error() == errc::lost) {  // the claim's lease, or that of notes: the next look will tell
      home->sessions_.doubt(one->full);
      home->sessions_.forget_notes();
      about.answer = failure(errc::unavailable, got.error().message());
    }
    return;
  }
  for (const auto& each : renewals) {
    if (each.of != about.with) continue;
    if (!*each.got) {
      about.answer = each.got->error();
      return;
    }
    if (!**each.got) return gone(about, false);
  }
  if (about.renewed && got->met) {
    const std::lock_guard lock(home->mutex_);
    auto said = one->said;
    said.token_is = claim_text::source::modified;
    home->adopt(*one, {one->key, said.text(), one->created, got->at, one->full->id});
    home->keep_until(*one);
    about.answer = home->held_standing(*one, 0);
    return;
  }
  const auto& mine = got->answers.at(about.first).found;
  if (mine.empty() || mine[0].created != one->created) return gone(about, false);
  const auto& second = got->answers.at(about.first + 1);
  bool evicted = false, now_held = false, was_counted = false;
  {
    const std::lock_guard lock(home->mutex_);
    if (mine[0].modified != one->modified) home->adopt(*one, mine[0]);
    evicted = one->said.state == claim_text::condition::evicted || one->said.state == claim_text::condition::over;
    was_counted = one->counted_at != 0;
  }
  if (evicted) return gone(about, true);
  if (about.whole_line) {
    const line all(second.found);
    const auto* place = all.find(one->id);
    if (place == nullptr) return gone(about, false);
    if (place->held && place->said.state == claim_text::condition::upgrading && !all.others_hold(*place))
      return upgrade(about, all, got->at, self);
    if (place->held) return served(about, all.waiting(), self);
    const std::lock_guard lock(home->mutex_);
    home->keep_until(*one);
    about.answer = home->waiting_standing(*one, all.waiting_before(*place));
    return;
  }
  if (about.counted) return served(about, second.count - 1, self);
  {
    const std::lock_guard lock(home->mutex_);
    const auto listed = static_cast<std::int64_t>(second.found.size());
    now_held = listed == 0 || one->held;
    if (!now_held && !was_counted) {
      home->count(*one, second.found, second.more ? std::max(one->ahead, listed) : listed, !second.more, got->at);
      now_held = one->before.empty() && one->counted_at != 0;  // the watch was faster than this answer
    }
    if (!now_held) {
      home->keep_until(*one);
      const auto others = std::max<std::int64_t>(one->ahead - 1, 0);
      about.answer = home->waiting_standing(*one, static_cast<std::uint32_t>(others));
    }
  }
  if (now_held) served(about, 0, self);
}

// It is held. If it waited until now it is still on the short lease.
void desk::look_job::served(question& about, std::int64_t behind, const std::shared_ptr<look_job>& self) {
  const auto one = about.one;
  bool ready = false, fresh = false;
  {
    const std::lock_guard lock(home->mutex_);
    one->held = true;
    ready = one->attached == one->full && (one->said.mode != lock_mode::shared || one->said.token != 0);
    fresh = about.tokens > 1 && one->said.mode == lock_mode::exclusive && one->whole() && behind == 0;
    if (ready && !fresh) {
      home->keep_until(*one);
      about.answer = home->held_standing(*one, behind);
      return;
    }
  }
  {
    const std::lock_guard lock(mutex);
    ++open;
  }
  const auto finish = [self, &about, behind, fresh](const result<bool>& got) {
    if (got && *got && fresh) return self->fresh_token(about, behind, self);
    if (!got) {
      about.answer = got.error();
    } else if (!*got) {
      about.answer = failure(errc::unavailable, "etcd: the claim's key has changed; it is looked at again");
    } else {
      const std::lock_guard lock(self->home->mutex_);
      self->home->keep_until(*about.one);
      about.answer = self->home->held_standing(*about.one, behind);
    }
    self->over();
  };
  if (ready) return finish(true);
  // The full lease must last from this look on, as the claim's holder is going to believe.
  const auto with_full = [self, &about, finish](const session_ptr& full) {
    {
      const std::lock_guard lock(self->home->mutex_);
      about.one->full = full;
    }
    self->home->sessions_.refresh(full, about.one->lease, [self, &about, finish](const result<bool>& lasts) {
      if (!lasts) return finish(lasts.error());
      if (!*lasts) return finish(failure(errc::unavailable, "etcd: the lease of this client is over"));
      self->home->admit(about.one, finish);
    });
  };
  home->sessions_.with(one->lease, [finish, with_full](const result<session_ptr>& full) {
    if (!full) return finish(full.error());
    with_full(*full);
  });
}

// Another token for the same hold, so that it can be passed on inside this process: the revision of a new write. Only
// while nobody waits: whoever does has an older one, and must not be granted less than was used before.
void desk::look_job::fresh_token(question& about, std::int64_t behind, const std::shared_ptr<look_job>& self) {
  const auto one = about.one;
  home->sessions_.for_notes([self, &about, one, behind](const result<session_ptr>& notes) {
    const auto finish = [self, &about, behind] {
      {
        const std::lock_guard lock(self->home->mutex_);
        self->home->keep_until(*about.one);
        about.answer = self->home->held_standing(*about.one, behind);
      }
      self->over();
    };
    if (!notes) return finish();
    auto& desk = *self->home;
    claim_text said;
    {
      const std::lock_guard lock(desk.mutex_);
      said = one->said;
    }
    said.token_is = claim_text::source::modified;
    desk.rewrite(one, said, one->full, {none_younger(desk.keys_.claims(one->written), one->created)},
                 {desk.note_writer(one->written, *notes)}, [finish](const result<rewritten>&) { finish(); });
  });
}

// It waited to be the only one, and is.
void desk::look_job::upgrade(question& about, const line& all, revision at, const std::shared_ptr<look_job>& self) {
  const auto one = about.one;
  const auto plan = plan_upgrade(all, *all.find(one->id), lock_mode::exclusive, one->said.capacity,
                                 home->keys_.claims(one->written), at);
  const auto behind = static_cast<std::int64_t>(all.waiting());
  if (!plan) return served(about, behind, self);
  {
    const std::lock_guard lock(mutex);
    ++open;
  }
  home->sessions_.for_notes([self, &about, one, behind, plan = *plan](const result<session_ptr>& notes) {
    const auto finish = [self, &about, behind] {
      self->served(about, behind, self);
      self->over();
    };
    if (!notes) return finish();
    auto& desk = *self->home;
    desk.rewrite(one, plan.said, one->attached, plan.when, {desk.note_writer(one->written, *notes)},
                 [finish](const result<rewritten>&) { finish(); });
  });
}

}  // namespace interlock::inline v1::etcd_store
