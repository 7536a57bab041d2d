// SPDX-License-Identifier: MIT
#include "backends/etcd/desk.hpp"
#include "backends/etcd/upgrade_plan.hpp"

#include <optional>
#include <utility>

/// convert: the same key is written again, so the claim keeps its place: a new one would stand behind waiting writers,
/// and one of them would be let in while we still read.
namespace interlock::inline v1::etcd_store {

struct desk::convert_job : std::enable_shared_from_this<convert_job> {
  convert_job(std::shared_ptr<desk> at, const claim& who, lock_mode to, std::uint32_t heavy, entry as,
              completion<standing> then, turn mine)
      : home(std::move(at)),
        name(who.name),
        written(home->keys_.written(who.name)),
        id(public_id(who.secret)),
        one(home->find(who.secret)),
        mode(to),
        weight(heavy),
        how(as),
        done(std::move(then)),
        serving(std::in_place, std::move(mine)) {}

  std::shared_ptr<desk> home;
  std::string name, written;
  claim_id id;
  record_ptr one;
  lock_mode mode;
  std::uint32_t weight;
  entry how;
  completion<standing> done;
  std::optional<turn> serving;
  session_ptr notes{};
  int tries = 0;

  void start();
  void read(const result<outcome>& got, std::size_t answer);
  void downgrade(const place& mine);
  void upgrade(const line& all, const place& mine, revision at);
  void not_yet(const line& all, const place& mine, revision at);
  void write(const place& mine, claim_text said, std::vector<comparison> when, std::vector<operation> also,
             standing::kind as, bool wakes);
  void wake();
  void answer(result<standing> got) {
    auto last = std::exchange(done, {});
    last(std::move(got));
    serving.reset();
  }
};

void desk::convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) {
  struct kept {
    std::string name;
    claim who;
  };
  auto copy = std::make_shared<kept>(kept{std::string(who.name), who});
  copy->who.name = copy->name;
  in_turn(keys_.written(who.name), [self = shared_from_this(), copy, mode, weight, how,
                                    done = std::move(done)](turn mine) mutable {
    std::make_shared<convert_job>(std::move(self), copy->who, mode, weight, how, std::move(done), std::move(mine))
        ->start();
  });
}

void desk::convert_job::start() {
  home->sessions_.for_notes([self = shared_from_this()](const result<session_ptr>& noting) {
    if (!noting) return self->answer(noting.error());
    self->notes = *noting;
    self->home->link_->commit({{}, {get_all(self->home->keys_.claims(self->written))}, {}},
                              [self](const result<outcome>& got) { self->read(got, 0); });
  });
}

void desk::convert_job::read(const result<outcome>& got, std::size_t which) {
  using condition = claim_text::condition;
  if (!got) return answer(got.error());
  if (++tries > 50) return answer(failure(errc::unavailable, "etcd: the claims on \"" + name + "\" change too fast"));
  const line all(got->answers.at(which).found);
  const auto* mine = all.find(id);
  if (mine == nullptr) return answer(gone_standing(false));
  if (mine->said.state == condition::evicted || mine->said.state == condition::over) return answer(gone_standing(true));
  if (!mine->held) return answer(gone_standing(false));
  if (weight <= mine->said.weight) return downgrade(*mine);
  if (all.other_upgrades(*mine))
    return answer(failure(errc::deadlock,
                          "another reader of \"" + name + "\" is waiting to upgrade; both would wait for each other"));
  upgrade(all, *mine, got->at);
}

void desk::convert_job::downgrade(const place& mine) {
  auto said = mine.said.fixed_by(mine.kv);
  if (said.token_is == claim_text::source::created && mode == lock_mode::shared) {  // it keeps the token it wrote with
    said.token_is = claim_text::source::fixed;
    said.token = token_of(mine);
  }
  said.state = claim_text::condition::usual;
  said.mode = mode;
  said.weight = weight;
  write(mine, std::move(said), {}, {put(home->keys_.wake(written), {}, mine.kv.lease)}, standing::kind::held, true);
}

void desk::convert_job::upgrade(const line& all, const place& mine, revision at) {
  auto plan = plan_upgrade(all, mine, mode, weight, home->keys_.claims(written), at);
  if (!plan) return not_yet(all, mine, at);
  write(mine, std::move(plan->said), std::move(plan->when), {home->note_writer(written, notes)}, standing::kind::held,
        false);
}

void desk::convert_job::not_yet(const line& all, const place& mine, revision at) {
  standing out;
  out.mode = mine.said.mode;
  out.token = token_of(mine);
  out.is = how == entry::queue ? standing::kind::waiting : standing::kind::busy;
  out.ahead = 0;
  if (how == entry::attempt || mine.said.state == claim_text::condition::upgrading) return answer(out);
  static_cast<void>(all);
  auto said = mine.said.fixed_by(mine.kv);
  said.state = claim_text::condition::upgrading;
  said.upgrading_since = 0;
  write(mine, std::move(said), {unchanged_since(home->keys_.claims(written), at)}, {}, standing::kind::waiting, false);
}

void desk::convert_job::write(const place& mine, claim_text said, std::vector<comparison> when,
                              std::vector<operation> also, standing::kind as, bool wakes) {
  when.push_back(modified_at(mine.kv.key, mine.kv.modified));
  also.push_back(put(mine.kv.key, said.text(), mine.kv.lease));
  key_value now{mine.kv.key, said.text(), mine.kv.created, 0, mine.kv.lease};
  home->link_->commit({std::move(when), std::move(also), {get_all(home->keys_.claims(written))}},
                      [self = shared_from_this(), now = std::move(now), as, wakes](const result<outcome>& got) mutable {
                        if (!got) return self->answer(got.error());
                        if (!got->met) return self->read(got, 0);
                        now.modified = got->at;
                        place written_now{.kv = now, .said = *claim_text::read(now.value), .held = true};
                        standing out;
                        out.is = as;
                        out.mode = written_now.said.mode;
                        out.token = token_of(written_now);
                        out.tokens = 1;
                        out.memo = static_cast<std::uint64_t>(now.created);
                        if (self->one) {
                          const std::lock_guard lock(self->home->mutex_);
                          self->home->adopt(*self->one, now);
                        }
                        if (wakes) self->wake();
                        self->answer(out);
                      });
}

// Nothing is deleted by a downgrade, but others may be let in by it.
void desk::convert_job::wake() {
  home->link_->commit({{}, {remove(home->keys_.wake(written))}, {}}, [](const result<outcome>&) {});
}

}  // namespace interlock::inline v1::etcd_store
