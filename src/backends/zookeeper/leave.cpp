// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/requests.hpp"

#include <algorithm>
#include <thread>
#include <utility>

/// How a claim ends: by its holder, by its lease, or because it was never to be.
namespace interlock::inline v1::zookeeper_store {

using state = record::state;

namespace {
constexpr std::size_t most_tails = 256;
}

void claims::leave(const claim& who, finality how, inline_work here, completion<departure> done) {
  change([&](aftermath& out) {
    if (closed_) return out.answer(std::move(done), failure(errc::closed));
    if (how == finality::final) bury(who.secret, who.lease, false);
    const auto one = find(who.secret);
    if (!one) {
      if (const auto known = tombs_.find(who.secret); known != tombs_.end() && known->second.as)
        return out.answer(std::move(done), *std::exchange(known->second.as, {}));
      return leave_stranger(who, std::move(done), out);
    }
    one->leaves.push_back(std::move(done));
    switch (one->is) {
      case state::making:
        one->doomed = true;
        if (one->unsent || std::erase(deferred_, one) > 0) end(one, out);
        return;
      case state::uncertain: one->doomed = true; return resolve(one, out);
      case state::waiting:
      case state::held: {
        const bool late = one->ends < time_.now();
        const auto as = late ? departure::gone : one->is == state::held ? departure::released : departure::left;
        // The thread that asks for much together runs callbacks and comes to flush(). One that lets go there, while
        // others queue, often queues again: then both are one request, and nobody ever sees the one without the other.
        const bool soon = one->behind > 0 && here != inline_work::never && gatherer_ == std::this_thread::get_id();
        return remove(one, as, soon ? inline_work::together : here, out);
      }
      case state::leaving:
      case state::over: return;
    }
  });
}

void claims::remove(const record_ptr& one, departure as, inline_work here, aftermath& out) {
  std::vector<std::string> steps;
  // A writer writes its token down for the readers after it.
  if (one->is == state::held && one->mode == lock_mode::exclusive && !one->permits() && !settings_.how->reader.empty())
    steps.push_back(ask_set_data(one->path, write_notes(lock_notes{.token = one->token})));
  if (!one->node.empty()) steps.push_back(ask_delete(one->queue() + "/" + one->node));
  for (const auto& lease : one->leases) steps.push_back(ask_delete(one->pool() + "/" + lease));
  if (one->is == state::held && one->behind > 0 && !one->last.empty()) remember_last(*one);
  one->is = state::leaving;
  if (!one->left_as) one->left_as = as;
  one->watching.clear();
  ++one->round;
  if (steps.empty()) return end(one, out);
  const bool all = steps.size() > 1;
  const bool went = send(one, all ? ask_all(steps) : std::move(steps.front()), here,
                         about(one,
                               [this, all](const record_ptr& it, answer got, aftermath& then) {
                                 removed(it, all ? error_of_all(got.error, got.body) : got.error, then);
                               }),
                         all ? together::never : together::change);
  if (!went) {
    one->doomed = true;
    lose_sight(one, code::not_sent, out);
  }
}

void claims::remember_last(record& one) {
  if (tails_.size() >= most_tails) tails_.clear();  // nobody came back for them
  tails_[one.path] = {std::exchange(one.last, {}), one.behind - 1, time_.now()};
}

void claims::removed(const record_ptr& one, int error, aftermath& out) {
  const bool several = one->leases.size() + (one->node.empty() ? 0 : 1) > 1 || !settings_.how->reader.empty();
  switch (error) {
    case code::ok: return end(one, out);
    case code::not_sent:
    case code::unknown:
    case code::session_moved:
    case code::session_expired: one->doomed = true; return lose_sight(one, error, out);
    default: break;
  }
  // One step of several could not be done, so none was: some of it is gone already.
  if (several && std::exchange(one->tries, 100) != 100) return remove_one_by_one(one, out);
  if (error == code::no_node) one->left_as = departure::gone;
  for (auto& done : std::exchange(one->leaves, {})) {
    if (error == code::no_node)
      out.answer(std::move(done), departure::gone);
    else
      out.answer(std::move(done), failure_of(error, "leaving " + one->path));
  }
  end(one, out);
}

void claims::remove_one_by_one(const record_ptr& one, aftermath& out) {
  std::vector<std::string> paths;
  if (!one->node.empty()) paths.push_back(one->queue() + "/" + one->node);
  for (const auto& lease : one->leases) paths.push_back(one->pool() + "/" + lease);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const bool last = i + 1 == paths.size();
    const bool went = send(one, ask_delete(paths[i]), inline_work::never,
                           about(one, [this, last](const record_ptr& it, answer got, aftermath& then) {
                             if (last) removed(it, got.error, then);
                           }));
    if (!went) {
      one->doomed = true;
      return lose_sight(one, code::not_sent, out);
    }
  }
}

// Nothing of it is left.
void claims::end(const record_ptr& one, aftermath& out) {
  const auto as = one->left_as.value_or(departure::gone);
  // Whoever asked was told that it is not known, and will ask again.
  if (one->doomed && one->leaves.empty()) bury(one->secret, one->lease, one->evicted).as = as;
  for (auto& done : std::exchange(one->leaves, {})) out.answer(std::move(done), as);
  standing gone;
  gone.is = standing::kind::gone;
  if (one->evicted) gone.reason = standing::cause::evicted;
  for (auto& done : std::exchange(one->enters, {}))
    out.answer(std::move(done), one->last_word ? *one->last_word : result<standing>(gone));
  for (auto& call : std::exchange(one->at_the_end, {})) call(out);
  forget(one);
  for (std::size_t i = 0; i < deferred_.size();) {
    if (deferred_[i]->name != one->name) {
      ++i;
      continue;
    }
    const auto next = deferred_[i];
    deferred_.erase(deferred_.begin() + static_cast<std::ptrdiff_t>(i));
    begin(next, inline_work::never, out);
  }
}

// It was made, and is not to be: whoever entered is told why when it has gone again; who was told to wait, enters anew.
void claims::refuse(const record_ptr& one, result<standing> word, aftermath& out) {
  if (one->enters.empty())
    one->at_the_end.push_back(
        [this, secret = one->secret](aftermath& then) { then.add([this, secret] { events_.look_again(secret); }); });
  one->last_word = std::move(word);
  remove(one, departure::gone, inline_work::never, out);
}

// A claim of another client, whose secret somebody knows. Its node's name is made of that.
void claims::leave_stranger(const claim& who, completion<departure> done, aftermath& out) {
  struct search {
    std::vector<std::string> places{};
    std::string lock{}, lease{};
    recipe how{};
    completion<departure> done{};
  };
  auto hunt = std::make_shared<search>();
  const auto id = public_id(who.secret);
  const auto path = root_.of(who.name);
  const bool permits = who.capacity != lock_capacity;
  hunt->how = permits ? curator_mutex : *settings_.how;
  hunt->lock = node_prefix(hunt->how, id, {});
  if (permits)
    hunt->places = {path + "/leases", path + "/locks"};
  else
    hunt->places = {path};
  hunt->done = std::move(done);
  const auto at = session_for(std::min(settings_.lease, longest_lease()));
  const auto last = hunt->places.size() - 1;
  for (std::size_t i = 0; i <= last; ++i) {
    const bool went =
        at->send(ask_children(hunt->places[i], false), inline_work::never, [this, hunt, i, last, at](answer got) {
          change([&](aftermath& then) {
            if (!hunt->done) return;
            if (got.error != code::ok && got.error != code::no_node)
              return then.answer(std::exchange(hunt->done, {}), failure_of(got.error, "leaving"));
            const auto children = got.error == code::ok ? got.body.texts() : std::vector<std::string_view>{};
            const auto mine = std::find_if(children.begin(), children.end(),
                                           [&](std::string_view child) { return child.starts_with(hunt->lock); });
            if (mine == children.end()) {
              if (i == last) then.answer(std::exchange(hunt->done, {}), departure::gone);
              return;
            }
            const bool held = hunt->places[i].ends_with("/leases")
                                  ? true
                                  : hunt->places.size() == 1 && find_place(line_up(hunt->how, children), *mine).granted;
            const bool asked = at->send(ask_delete(hunt->places[i] + "/" + std::string(*mine)), inline_work::never,
                                        [held, done = std::exchange(hunt->done, {})](answer end) mutable {
                                          if (end.error == code::no_node) return done(departure::gone);
                                          if (end.error != code::ok) return done(failure_of(end.error, "leaving"));
                                          done(held ? departure::released : departure::left);
                                        });
            if (!asked) return;
          });
        });
    if (!went) return out.answer(std::exchange(hunt->done, {}), failure_of(code::not_sent, "leaving"));
  }
}

}  // namespace interlock::inline v1::zookeeper_store
