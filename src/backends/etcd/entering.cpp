// SPDX-License-Identifier: MIT
#include "backends/etcd/desk.hpp"

#include <algorithm>
#include <optional>
#include <utility>

/// enter: one transaction, and a second one for those who join others.
///
/// Nobody here: the key is written with the full lease, and that is the lock. Somebody is: it is written with the
/// shorter lease of those who wait, and who holds follows from the order of all keys.
namespace interlock::inline v1::etcd_store {

struct desk::enter_job : std::enable_shared_from_this<enter_job> {
  enter_job(std::shared_ptr<desk> at, record_ptr about, entry as, inline_work when, completion<standing> then,
            turn mine)
      : home(std::move(at)),
        one(std::move(about)),
        how(as),
        here(when),
        done(std::move(then)),
        serving(std::in_place, std::move(mine)) {}

  std::shared_ptr<desk> home;
  record_ptr one;
  entry how;
  inline_work here;
  completion<standing> done;
  std::optional<turn> serving;
  session_ptr notes{};
  int tries = 0;
  bool only_now = how == entry::attempt;

  // The answers that are awaited together.
  std::mutex mutex{};
  int open = 0;
  std::optional<result<outcome>> said{};
  std::optional<failure> trouble{};  // with a renewal
  bool session_over = false;

  void start();
  void send(transaction what);
  void arrived();
  void judge();
  void joined(const outcome& got, bool alone);
  void refused(const outcome& got);
  void found_again(line all, revision at);
  void try_to_join(const line& all, const outcome& got);
  void undo_mismatch(std::uint32_t used_as);
  void take_back(result<standing> then);
  void answer(result<standing> got) {
    auto last = std::exchange(done, {});
    last(std::move(got));
    serving.reset();
  }
  void admitted();

  [[nodiscard]] transaction first_try() const;
  [[nodiscard]] std::vector<operation> writing(const session_ptr& with) const;
  [[nodiscard]] bool writer() const { return one->said.mode == lock_mode::exclusive && locks(); }
  [[nodiscard]] bool locks() const { return one->said.capacity == lock_capacity; }
  [[nodiscard]] bool reader() const { return one->said.mode == lock_mode::shared; }
};

void desk::enter(const claim& who, entry how, inline_work here, completion<standing> done) {
  if (const auto over = buried(who.secret)) return done(*over);
  auto written = keys_.written(who.name);
  auto one = find_or_make(who, written);
  in_turn(written, [self = shared_from_this(), one, how, here, done = std::move(done)](turn mine) mutable {
    std::make_shared<enter_job>(std::move(self), std::move(one), how, here, std::move(done), std::move(mine))->start();
  });
}

void desk::enter_job::start() {
  const auto self = shared_from_this();
  home->sessions_.with(one->lease, [self](result<session_ptr> full) {
    if (!full) return self->answer(full.error());
    self->home->sessions_.with(self->one->wait_lease, [self, full = *full](result<session_ptr> brief) {
      if (!brief) return self->answer(brief.error());
      self->home->sessions_.for_notes([self, full, brief = *brief](result<session_ptr> noting) {
        if (!noting) return self->answer(noting.error());
        self->notes = *noting;
        {
          const std::lock_guard lock(self->home->mutex_);
          self->one->full = full;
          self->one->brief = brief;
          self->home->choose_key(*self->one);
        }
        self->send(self->first_try());
      });
    });
  });
}

// The claim's key, and with it what readers get their token from.
std::vector<operation> desk::enter_job::writing(const session_ptr& with) const {
  std::vector<operation> out;
  if (reader()) out.push_back(get(home->keys_.last(one->written)));
  out.push_back(put(one->key, one->said.text(), with->id));
  if (writer()) out.push_back(home->note_writer(one->written, notes));
  if (reader())
    out.push_back(
        nested({{absent({home->keys_.last(one->written), {}})}, {home->note_writer(one->written, notes)}, {}}));
  return out;
}

transaction desk::enter_job::first_try() const {
  const auto& keys = home->keys_;
  const auto all = keys.claims(one->written);
  transaction out{{absent(all), absent(keys.tombs(one->id))}, writing(one->full), {}};
  if (how == entry::attempt) {
    if (one->whole())
      out.otherwise = {get(one->key), get_first(all)};
    else
      out.otherwise = {get_all(all)};
    return out;
  }
  transaction queue{{absent({one->key, {}}), absent(keys.tombs(one->id))}, writing(one->brief), {get_all(all)}};
  queue.then.insert(queue.then.begin(), one->whole() ? get_youngest(all, most_known) : get_all(all));
  out.otherwise = {nested(std::move(queue))};
  return out;
}

void desk::enter_job::send(transaction what) {
  const auto self = shared_from_this();
  open = 2;
  said.reset();
  trouble.reset();
  const bool both = one->brief != one->full && how == entry::queue;
  if (both) ++open;
  const auto kept = [self](const result<bool>& got) {
    {
      const std::lock_guard lock(self->mutex);
      if (!got)
        self->trouble = got.error();
      else if (!*got)
        self->session_over = true;
    }
    self->arrived();
  };
  home->together_->commit(one->written, std::move(what), here, [self](result<outcome> got) {
    {
      const std::lock_guard lock(self->mutex);
      self->said.emplace(std::move(got));
    }
    self->arrived();
  });
  home->sessions_.refresh(one->full, one->lease, kept);
  if (both) home->sessions_.refresh(one->brief, one->wait_lease, kept);
}

void desk::enter_job::arrived() {
  {
    const std::lock_guard lock(mutex);
    if (--open > 0) return;
  }
  judge();
}

void desk::enter_job::judge() {
  auto& got = *said;
  if (!got) {
    if (got.error() == errc::lost) {  // "requested lease not found": which one it was will be seen
      home->sessions_.doubt(one->full);
      home->sessions_.doubt(one->brief);
      home->sessions_.forget_notes();
      return answer(failure(errc::unavailable, got.error().message()));
    }
    if (got.error() == errc::indeterminate) {
      const std::lock_guard lock(home->mutex_);
      one->burnt = true;
      for (const auto& each : {one->full, one->brief})
        if (std::find(one->risky.begin(), one->risky.end(), each) == one->risky.end()) one->risky.push_back(each);
    }
    return answer(got.error());
  }
  if (session_over) return answer(failure(errc::unavailable, "etcd: the lease of this client is over"));
  if (trouble) return answer(*trouble);  // the key may be there; whoever asks again finds it
  if (got->met) return joined(*got, true);
  refused(*got);
}

// Written: alone, or behind others.
void desk::enter_job::joined(const outcome& got, bool alone) {
  std::size_t at = 0;
  std::vector<key_value> before;
  std::int64_t ahead = 0;
  if (!alone) {
    before = got.answers.at(0).found;
    ahead = got.answers[0].count;
    at = 1;
  }
  std::uint32_t used_as = 0;
  bool now_held = alone;
  std::uint32_t waiting_before = 0;
  {
    const std::lock_guard lock(home->mutex_);
    const auto with = alone ? one->full : one->brief;
    home->adopt(*one, {one->key, one->said.text(), got.at, got.at, with->id});
    if (reader()) {
      const auto& last = got.answers.at(at).found;
      one->token = static_cast<std::uint64_t>(last.empty() ? got.at : last[0].modified);
    }
    if (!alone && one->whole()) {
      home->count(*one, before, ahead, !got.answers[0].more, got.at);
      used_as = line(std::move(before)).capacity();
      now_held = one->before.empty() && one->counted_at != 0;
      waiting_before = static_cast<std::uint32_t>(std::max<std::int64_t>(one->ahead - 1, 0));
    } else if (!alone) {
      const line others(std::move(before));
      used_as = others.capacity();
      now_held = others.admits(one->said.weight, one->said.capacity);
      waiting_before = others.waiting();
      one->counted_at = 0;
    }
    one->held = now_held;
  }
  if (used_as != 0 && used_as != one->said.capacity) return undo_mismatch(used_as);
  if (now_held) return admitted();
  if (only_now) return take_back(standing{.is = standing::kind::busy});
  standing out;
  {
    const std::lock_guard lock(home->mutex_);
    home->keep_until(*one);
    out = home->waiting_standing(*one, waiting_before);
  }
  answer(out);
}

void desk::enter_job::admitted() {
  home->admit(one, [self = shared_from_this()](result<bool> got) {
    if (!got) return self->answer(got.error());
    if (!*got)
      return self->answer(failure(errc::unavailable, "etcd: the claim's key has changed; it is looked at anew"));
    standing out;
    {
      const std::lock_guard lock(self->home->mutex_);
      self->one->held = true;
      self->home->keep_until(*self->one);
      out = self->home->held_standing(*self->one, 0);
    }
    self->answer(out);
  });
}

// Not written by the first try.
void desk::enter_job::refused(const outcome& got) {
  const outcome* last = &got;
  if (how == entry::queue && !got.answers.empty() && !got.answers[0].inner.empty()) {
    last = &got.answers[0].inner[0];
    if (last->met) return joined(*last, false);
  }
  if (how == entry::attempt && one->whole()) {
    const bool there = !got.answers.at(0).found.empty();
    if (!there) {
      const auto used_as = line(got.answers.at(1).found).capacity();
      if (used_as != 0 && used_as != one->said.capacity) return undo_mismatch(used_as);
      home->forget(one);
      return answer(standing{.is = standing::kind::busy});
    }
    how = entry::queue;  // asked before, and the answer was lost: the long way, which never writes a second time
    return send(first_try());
  }
  line all(last->answers.at(0).found);
  if (all.find(one->id) != nullptr) return found_again(std::move(all), got.at);
  if (how == entry::attempt) return try_to_join(all, got);
  home->forget(one);  // a tomb
  answer(gone_standing(false));
}

// Our own key is there: how does it stand?
void desk::enter_job::found_again(line all, revision at) {
  const auto& mine = *all.find(one->id);
  const bool evicted =
      mine.said.state == claim_text::condition::evicted || mine.said.state == claim_text::condition::over;
  const bool now_held = mine.held;
  const auto before = all.waiting_before(mine);
  standing out;
  {
    const std::lock_guard lock(home->mutex_);
    home->adopt(*one, mine.kv);
    if (one->token == 0) one->token = token_of(mine);
    if (reader() && one->token == 0) one->token = static_cast<std::uint64_t>(mine.kv.created);
    one->held = now_held;
    std::vector<key_value> older;
    for (const auto& each : all.places())
      if (each.kv.created < mine.kv.created) older.push_back(each.kv);
    if (!now_held && one->whole()) home->count(*one, older, static_cast<std::int64_t>(older.size()), true, at);
    if (!now_held) home->keep_until(*one);
    out = home->waiting_standing(*one, before);
  }
  if (evicted) return answer(gone_standing(true));
  if (now_held) return admitted();
  answer(out);
}

// An attempt of a reader, or for some permits: written only if it holds at once, and nobody came in between.
void desk::enter_job::try_to_join(const line& all, const outcome& got) {
  const auto used_as = all.capacity();
  if (used_as != 0 && used_as != one->said.capacity) return undo_mismatch(used_as);
  if (!all.admits(one->said.weight, one->said.capacity) || ++tries > 20) {
    home->forget(one);
    return answer(standing{.is = standing::kind::busy});
  }
  const auto keys = home->keys_.claims(one->written);
  send({{unchanged_since(keys, got.at), absent({one->key, {}}), absent(home->keys_.tombs(one->id))},
        writing(one->full),
        {get_all(keys)}});
}

void desk::enter_job::undo_mismatch(std::uint32_t used_as) {
  const auto kind = [](std::uint32_t n) {
    return n == lock_capacity ? std::string("a lock") : "a semaphore of " + std::to_string(n);
  };
  const auto name = home->keys_.read(one->written).value_or(one->written);
  failure why(errc::invalid_argument, "\"" + name + "\" is in use as " + kind(used_as) + " and cannot be " +
                                          kind(one->said.capacity) + " at the same time");
  if (one->created != 0) return take_back(why);
  home->forget(one);
  answer(why);
}

void desk::enter_job::take_back(result<standing> then) {
  home->link_->commit({{created_at(one->key, one->created)}, {remove(one->key)}, {}},
                      [self = shared_from_this(), then = std::move(then)](const result<outcome>& got) {
                        if (!got) return self->answer(got.error());
                        self->home->forget(self->one);
                        self->answer(then);
                      });
}

}  // namespace interlock::inline v1::etcd_store
