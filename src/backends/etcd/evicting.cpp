// SPDX-License-Identifier: MIT
#include "backends/etcd/desk.hpp"

#include <utility>

/// evict: a mark in the key, then news to whom it concerns. Gently, a holder's key stays: its client removes it when
/// the lease that it was told to stop in is over, or etcd does. By force, or if it only waits, the key is deleted.
namespace interlock::inline v1::etcd_store {

struct desk::evict_job : std::enable_shared_from_this<evict_job> {
  evict_job(std::shared_ptr<desk> at, std::string_view name, const claim_id& who, bool forced, completion<bool> then)
      : home(std::move(at)),
        keys(home->keys_.claims(home->keys_.written(name))),
        id(who),
        force(forced),
        done(std::move(then)) {}

  std::shared_ptr<desk> home;
  key_range keys;
  claim_id id;
  bool force;
  completion<bool> done;
  int tries = 0;

  void start();
  void read(const result<outcome>& got);
  void mark(const place& whom, bool ends);
  void finish(const std::string& key, revision marked, bool ends);
  void remove_foreign(const place& whom);
  void answer(result<bool> got) {
    auto last = std::exchange(done, {});
    last(std::move(got));
  }
};

void desk::evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) {
  std::make_shared<evict_job>(shared_from_this(), name, who, force, std::move(done))->start();
}

void desk::evict_job::start() {
  home->link_->commit({{}, {get_all(keys)}, {}},
                      [self = shared_from_this()](const result<outcome>& got) { self->read(got); });
}

void desk::evict_job::read(const result<outcome>& got) {
  using condition = claim_text::condition;
  if (!got) return answer(got.error());
  if (++tries > 50) return answer(failure(errc::unavailable, "etcd: the claim changes too fast"));
  const line all(got->answers.at(0).found);
  const auto* whom = all.find(id);
  if (whom == nullptr || whom->said.state == condition::over) return answer(false);
  if (whom->foreign) return remove_foreign(*whom);
  if (whom->said.state == condition::evicted && !force) return answer(false);
  mark(*whom, force || !whom->held);
}

void desk::evict_job::remove_foreign(const place& whom) {
  if (!force)
    return answer(failure(errc::unsupported, "this claim is another program's, which cannot be told to stop; it can "
                                             "only be broken by force"));
  home->link_->commit({{created_at(whom.kv.key, whom.kv.created)}, {remove(whom.kv.key)}, {}},
                      [self = shared_from_this()](const result<outcome>& got) {
                        if (!got) return self->answer(got.error());
                        self->answer(got->met);
                      });
}

void desk::evict_job::mark(const place& whom, bool ends) {
  auto said = whom.said.fixed_by(whom.kv);
  said.state = ends ? claim_text::condition::over : claim_text::condition::evicted;
  home->link_->commit({{modified_at(whom.kv.key, whom.kv.modified)},
                       {put(whom.kv.key, said.text(), whom.kv.lease), put(home->keys_.eviction(id), {}, whom.kv.lease)},
                       {get_all(keys)}},
                      [self = shared_from_this(), key = whom.kv.key, ends](const result<outcome>& got) {
                        if (!got && got.error() == errc::lost) return self->answer(false);  // its lease is over
                        if (!got) return self->answer(got.error());
                        if (!got->met) return self->read(got);
                        self->finish(key, got->at, ends);
                      });
}

// The news is the deletion of a key that was put for it; it comes before that of the claim's own.
void desk::evict_job::finish(const std::string& key, revision marked, bool ends) {
  transaction what{{}, {remove(home->keys_.eviction(id))}, {}};
  if (ends) what.then.push_back(nested({{modified_at(key, marked)}, {remove(key)}, {}}));
  home->link_->commit(what, [self = shared_from_this()](const result<outcome>& got) {
    if (!got) return self->answer(got.error());
    self->answer(true);
  });
}

}  // namespace interlock::inline v1::etcd_store
