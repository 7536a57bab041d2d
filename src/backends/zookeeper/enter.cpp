// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/requests.hpp"

#include <algorithm>
#include <thread>
#include <utility>

/// How a claim comes to be, and how it is found again after a lost answer.
namespace interlock::inline v1::zookeeper_store {

using state = record::state;

namespace {

constexpr unsigned most_tries = 4;        // parents that vanish as fast as they are made
constexpr milliseconds expected_for{10};  // whoever comes back later than this may well find another queue

std::string last_part(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

}  // namespace

void claims::enter(const claim& who, entry how, inline_work here, completion<standing> done) {
  change([&](aftermath& out) {
    if (closed_) return out.answer(std::move(done), failure(errc::closed));
    if (here == inline_work::together) gatherer_ = std::this_thread::get_id();
    if (const auto* evicted = buried(who.secret)) return out.answer(std::move(done), gone(*evicted));
    if (who.capacity != lock_capacity && !settings_.how->curator)
      return out.answer(std::move(done), failure(errc::unsupported, "layout=kazoo has no semaphores"));
    if (who.mode == lock_mode::shared && settings_.how->reader.empty())
      return out.answer(std::move(done), failure(errc::unsupported, "object=" + std::string(settings_.how->name) +
                                                                        " has no shared mode; object=rw has"));
    if (const auto one = find(who.secret)) return enter_again(one, std::move(done), out);
    const auto one = make_record(who, how);
    one->enters.push_back(std::move(done));
    // What this client leaves in one session must have left before it enters the same name in another.
    const auto in_the_way = [&](const auto& other) {
      return other.second->is == state::leaving && other.second->at != one->at && other.second->name == one->name;
    };
    if (sessions_.size() > 1 && std::any_of(records_.begin(), records_.end(), in_the_way))
      deferred_.push_back(one);
    else
      begin(one, here, out);
  });
}

record_ptr claims::make_record(const claim& who, entry how) {
  auto one = std::make_shared<record>();
  one->secret = who.secret;
  one->id = public_id(who.secret);
  one->name = who.name;
  one->path = root_.of(who.name);
  one->mode = who.mode;
  one->weight = who.weight;
  one->capacity = who.capacity;
  one->lease = who.lease;
  one->wait_lease = who.wait_lease;
  one->notes = notes_of(who);
  one->at = session_for(who.lease);
  one->how = how;
  one->asked = time_.now();
  records_.emplace(one->secret, one);
  set_end(one, one->asked + one->wait_lease);
  return one;
}

// Asking again with the same secret is safe.
void claims::enter_again(const record_ptr& one, completion<standing> done, aftermath& out) {
  const auto now = time_.now();
  if (one->is == state::leaving || one->doomed || one->evicted || one->ends < now) {
    if (one->stands() && one->ends < now) {
      bury(one->secret, one->lease, one->evicted);
      remove(one, departure::gone, inline_work::never, out);
    }
    one->at_the_end.push_back([done = std::move(done), evicted = one->evicted](aftermath& then) mutable {
      then.answer(std::move(done), gone(evicted));
    });
    return;
  }
  one->asked = now;
  one->enters.push_back(std::move(done));
  if (one->is == state::making) return;  // whoever asked first is being answered
  if (one->is == state::uncertain) return resolve(one, out);
  list(one, out);
}

void claims::begin(const record_ptr& one, inline_work here, aftermath& out) {
  one->is = state::making;
  one->node.clear();
  one->unsent = false;
  ++one->round;
  if (one->at->was_up() && !one->at->is_up())
    return fail_enter(one, failure_of(code::not_sent, "entering " + one->path), out);
  const auto& how = one->permits() ? curator_mutex : *settings_.how;
  const auto marker = one->mode == lock_mode::shared ? how.reader : how.writer;
  auto request = ask_create(one->queue() + "/" + node_prefix(how, one->id, marker), write_notes(one->notes),
                            settings_.whose, node_kind::ephemeral_sequential);
  expect_place(*one);
  // Both in one flight; what the second says counts only if the first went well.
  const bool alone = !one->before.empty();
  const bool went = send(one, std::move(request), alone ? link::sending(here) : link::with_the_next,
                         about(one, [this](const record_ptr& it, answer got, aftermath& then) { made(it, got, then); }),
                         together::change);
  if (!went) {
    one->unsent = true;  // its session is on its way
    return;
  }
  if (alone) return;
  send(one, ask_children(one->queue(), false), here,
       about(one, [this](const record_ptr& it, answer got, aftermath& then) { listed(it, got, then); }),
       together::list);
}

void claims::made(const record_ptr& one, answer got, aftermath& out) {
  switch (got.error) {
    case code::ok: {
      one->node = last_part(got.body.text());
      const auto stat = got.body.stat();
      if (one->mode == lock_mode::exclusive) one->token = static_cast<std::uint64_t>(stat.czxid);
      one->version = 0;
      if (one->doomed) return remove(one, departure::left, inline_work::never, out);
      if (!one->before.empty()) place_behind(one, out);
      return;
    }
    case code::no_node:
      if (++one->tries < most_tries) return make_parents(one), begin(one, inline_work::never, out);
      return fail_enter(one, failure_of(one->parent_error != 0 ? one->parent_error : got.error, "making " + one->path),
                        out);
    case code::not_sent: return fail_enter(one, failure_of(got.error, "entering " + one->path), out);
    case code::unknown:
    case code::session_moved:
    case code::session_expired: return lose_sight(one, got.error, out);
    default: return fail_enter(one, failure_of(got.error, "entering " + one->path), out);
  }
}

// Whoever has just let go while others queued, and queues again, knows who will be right before it: the last of them,
// unless somebody has come in between, which the number will tell. Then nobody needs to be asked for the list.
void claims::expect_place(record& one) {
  one.before.clear();
  const auto found = tails_.find(one.path);
  if (found == tails_.end()) return;
  auto known = std::move(found->second);
  tails_.erase(found);
  if (one.how != entry::queue || one.mode == lock_mode::shared || one.permits()) return;
  if (known.seen + expected_for < time_.now()) return;
  one.before = std::move(known.node);
  one.ahead = known.ahead;
}

// Its own node is made. What it watches is right if nothing was made in between and the other is still there, which
// watching it tells; that it may have the lock is only ever learned from a list.
void claims::place_behind(const record_ptr& one, aftermath& out) {
  const auto other = read_contender(*settings_.how, std::exchange(one->before, {}));
  const auto mine = read_contender(*settings_.how, one->node);
  if (!other || !mine || !comes_next(other->number, mine->number)) return list(one, out);
  wait(one, one->queue() + "/" + other->node, out);
}

// As containers, which the servers remove some time after the last of their children has gone.
void claims::make_parents(const record_ptr& one) {
  const auto path = one->queue();
  for (auto slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const auto upper = path.substr(0, slash);
    const auto kind = containers_ ? node_kind::container : node_kind::lasting;
    send(one, ask_create(upper, {}, rights::anyone, kind), inline_work::never, [this, one](answer got) {
      const std::lock_guard lock(mutex_);
      if (got.error == code::unimplemented) containers_ = false;
      if (got.error != code::ok && got.error != code::node_exists) one->parent_error = got.error;
    });
    if (slash == path.npos) return;
  }
}

// ---- after a lost answer

// The connection ended before the answer came: it may have happened. Nothing of the old connection can take effect once
// the session is at another one, so what is then found there, or not, is final.
void claims::lose_sight(const record_ptr& one, int error, aftermath& out) {
  one->is = state::uncertain;
  ++one->round;
  const auto why = failure_of(error, "asking about " + one->path);
  for (auto& done : std::exchange(one->enters, {})) out.answer(std::move(done), why);
  for (auto& done : std::exchange(one->leaves, {})) out.answer(std::move(done), why);
}

void claims::resolve(const record_ptr& one, aftermath& out) {
  ++one->round;
  one->is = state::making;
  one->watching.clear();
  one->guarded = false;
  if (one->permits()) return resolve_lease(one, out);
  const bool went = send(one, ask_sync(one->queue()), inline_work::never,
                         about(one,
                               [this](const record_ptr& it, answer got, aftermath& then) {
                                 if (got.error == code::unknown || got.error == code::not_sent)
                                   lose_sight(it, got.error, then);
                               })) &&
                    send(one, ask_children(one->queue(), false), inline_work::never,
                         about(one, [this](const record_ptr& it, answer got, aftermath& then) {
                           if (got.error == code::no_node) return not_found(it, then);
                           if (got.error != code::ok) return lose_sight(it, got.error, then);
                           const auto& how = it->permits() ? curator_mutex : *settings_.how;
                           const auto marker = it->mode == lock_mode::shared ? how.reader : how.writer;
                           const auto mine = node_prefix(how, it->id, marker);
                           for (const auto child : got.body.texts())
                             if (child.starts_with(mine)) return found(it, std::string(child), false, then);
                           not_found(it, then);
                         }));
  if (!went) lose_sight(one, code::not_sent, out);
}

// A semaphore's claim may have got as far as its permits.
void claims::resolve_lease(const record_ptr& one, aftermath& out) {
  const auto in_queue = [this](const record_ptr& it, aftermath& then) {
    const bool went = send(it, ask_children(it->queue(), false), inline_work::never,
                           about(it, [this](const record_ptr& still, answer got, aftermath& more) {
                             if (got.error == code::no_node) return not_found(still, more);
                             if (got.error != code::ok) return lose_sight(still, got.error, more);
                             const auto mine = node_prefix(curator_mutex, still->id, curator_mutex.writer);
                             for (const auto child : got.body.texts())
                               if (child.starts_with(mine)) return found(still, std::string(child), false, more);
                             not_found(still, more);
                           }));
    if (!went) lose_sight(it, code::not_sent, then);
  };
  const bool went = send(one, ask_sync(one->path), inline_work::never, [](answer) {}) &&
                    send(one, ask_children(one->pool(), false), inline_work::never,
                         about(one, [this, in_queue](const record_ptr& it, answer got, aftermath& then) {
                           if (got.error == code::no_node) return in_queue(it, then);
                           if (got.error != code::ok) return lose_sight(it, got.error, then);
                           const auto mine = node_prefix(curator_mutex, it->id, lease_marker);
                           it->leases.clear();
                           for (const auto child : got.body.texts())
                             if (child.starts_with(mine)) it->leases.emplace_back(child);
                           if (it->leases.empty()) return in_queue(it, then);
                           found(it, it->leases.front(), true, then);
                         }));
  if (!went) lose_sight(one, code::not_sent, out);
}

// A node that begins like ours: ours only if it belongs to the session we have now.
void claims::found(const record_ptr& one, std::string node, bool lease, aftermath& out) {
  const auto path = (lease ? one->pool() : one->queue()) + "/" + node;
  const bool went = send(one, ask_data(path, false), inline_work::never,
                         about(one, [this, node, lease](const record_ptr& it, answer got, aftermath& then) {
                           if (got.error == code::no_node) return not_found(it, then);
                           if (got.error != code::ok) return lose_sight(it, got.error, then);
                           const auto notes = read_notes(got.body.text());
                           const auto stat = got.body.stat();
                           if (stat.owner != it->at->id()) return not_found(it, then);
                           if (!lease) it->node = node;
                           it->version = stat.version;
                           if (it->mode == lock_mode::exclusive) it->token = static_cast<std::uint64_t>(stat.czxid);
                           if (lease && notes && notes->token != 0) it->token = notes->token;
                           if (it->doomed) return remove(it, departure::left, inline_work::never, then);
                           lease ? grant(it, then) : list(it, then);
                         }));
  if (!went) lose_sight(one, code::not_sent, out);
}

void claims::not_found(const record_ptr& one, aftermath& out) {
  one->leases.clear();
  if (one->doomed) return end(one, out);
  if (!one->enters.empty()) return begin(one, inline_work::never, out);
  forget(one);
}

// Nothing of it is in the store.
void claims::fail_enter(const record_ptr& one, const failure& why, aftermath& out) {
  for (auto& done : std::exchange(one->enters, {})) out.answer(std::move(done), why);
  end(one, out);
}

}  // namespace interlock::inline v1::zookeeper_store
