// SPDX-License-Identifier: MIT
#include "backends/etcd/desk.hpp"

#include <optional>
#include <utility>

/// leave: the key is deleted if it is the one we made. If an enter was never answered it may still come: then a tomb is
/// written beside it, which every enter of this claim looks for; it belongs to the leases that the late enter would
/// need, and so lasts exactly as long as there is something to stop.
namespace interlock::inline v1::etcd_store {

struct desk::leave_job : std::enable_shared_from_this<leave_job> {
  leave_job(std::shared_ptr<desk> at, const claim& who, finality as, inline_work when, completion<departure> then,
            turn mine)
      : home(std::move(at)),
        written(home->keys_.written(who.name)),
        secret(who.secret),
        id(public_id(who.secret)),
        lease(who.lease),
        how(as),
        here(when),
        done(std::move(then)),
        serving(std::in_place, std::move(mine)) {}

  std::shared_ptr<desk> home;
  std::string written;
  claim_secret secret;
  claim_id id;
  milliseconds lease;
  finality how;
  inline_work here;
  completion<departure> done;
  std::optional<turn> serving;
  record_ptr one{};

  void start();
  void remove_ours();
  void remove_for_good();
  void remove_found();
  void over(departure as);
  void failed(const failure& why) {
    auto last = std::exchange(done, {});
    last(why);
    serving.reset();
  }
};

void desk::leave(const claim& who, finality how, inline_work here, completion<departure> done) {
  auto written = keys_.written(who.name);
  // The claim's views live until the completion has run, but the turn may come later than that of a closed client.
  struct kept {
    std::string name;
    claim who;
  };
  auto copy = std::make_shared<kept>(kept{std::string(who.name), who});
  copy->who.name = copy->name;
  in_turn(written, [self = shared_from_this(), copy, how, here, done = std::move(done)](turn mine) mutable {
    std::make_shared<leave_job>(std::move(self), copy->who, how, here, std::move(done), std::move(mine))->start();
  });
}

void desk::leave_job::start() {
  one = home->find(secret);
  if (!one) {
    if (home->buried(secret)) return over(departure::gone);
    return remove_found();
  }
  bool risky = false;
  {
    const std::lock_guard lock(home->mutex_);
    one->leaving = true;
    risky = !one->risky.empty();
  }
  if (risky) return remove_for_good();
  if (one->created == 0) return over(departure::gone);  // every enter was answered, and none took effect
  remove_ours();
}

void desk::leave_job::over(departure as) {
  {
    const std::lock_guard lock(home->mutex_);
    if (how == finality::final) home->bury(secret, false, lease);
    if (one) home->forget_locked(one);
  }
  auto last = std::exchange(done, {});
  last(as);
  serving.reset();
}

void desk::leave_job::remove_ours() {
  home->together_->commit(written, {{created_at(one->key, one->created)}, {remove(one->key)}, {}}, here,
                          [self = shared_from_this()](const result<outcome>& got) {
                            if (!got) return self->failed(got.error());
                            if (!got->met) return self->over(departure::gone);
                            self->over(self->one->held ? departure::released : departure::left);
                          });
}

void desk::leave_job::remove_for_good() {
  how = finality::final;
  transaction what{{}, {remove(one->key)}, {}};
  for (const auto& each : one->risky) what.then.push_back(put(home->keys_.tomb(id, each->id), {}, each->id));
  home->link_->commit(what, [self = shared_from_this()](const result<outcome>& got) {
    auto& job = *self;
    if (got) {
      if (got->answers.at(0).count == 0) return job.over(departure::gone);
      return job.over(job.one->held ? departure::released : departure::left);
    }
    if (got.error() != errc::lost) return job.failed(got.error());
    // One of the leases is over; nothing can come late with that one. Which? The tombs are tried one by one.
    if (job.one->risky.size() == 1) {
      {
        const std::lock_guard lock(job.home->mutex_);
        job.one->risky.clear();
      }
      return job.remove_for_good();
    }
    const auto last = job.one->risky.back();
    job.home->link_->commit({{}, {put(job.home->keys_.tomb(job.id, last->id), {}, last->id)}, {}},
                            [self, last](const result<outcome>& each) {
                              if (!each && each.error() != errc::lost) return self->failed(each.error());
                              {
                                const std::lock_guard lock(self->home->mutex_);
                                std::erase(self->one->risky, last);
                              }
                              self->remove_for_good();
                            });
  });
}

// A claim of another client, or of one that we have forgotten: whoever knows the secret may end it.
void desk::leave_job::remove_found() {
  home->link_->commit(
      {{}, {get_all(home->keys_.claims(written))}, {}}, [self = shared_from_this()](const result<outcome>& got) {
        auto& job = *self;
        if (!got) return job.failed(got.error());
        const line all(got->answers.at(0).found);
        const auto* mine = all.find(job.id);
        if (mine == nullptr) return job.over(departure::gone);
        const auto was = mine->held ? departure::released : departure::left;
        job.home->link_->commit({{created_at(mine->kv.key, mine->kv.created)}, {remove(mine->kv.key)}, {}},
                                [self, was](const result<outcome>& removed) {
                                  if (!removed) return self->failed(removed.error());
                                  self->over(removed->met ? was : departure::gone);
                                });
      });
}

}  // namespace interlock::inline v1::etcd_store
