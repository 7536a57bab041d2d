// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/requests.hpp"

#include <algorithm>
#include <utility>

/// Where a claim stands among the others of its name, and what it waits for.
namespace interlock::inline v1::zookeeper_store {

using state = record::state;

namespace {
constexpr milliseconds guard_after{100};  // a claim that lasts longer than this watches its own node
}

void claims::list(const record_ptr& one, aftermath& out) {
  const bool went = send(
      one, ask_children(one->queue(), false), inline_work::never,
      about(one, [this](const record_ptr& it, answer got, aftermath& then) { listed(it, got, then); }), together::list);
  if (!went) lose_sight(one, code::not_sent, out);
}

void claims::listed(const record_ptr& one, answer got, aftermath& out) {
  if (one->node.empty() && one->leases.empty()) return;  // it was not made: whoever saw to that has answered
  if (one->is != state::making && !one->stands()) return;
  if (got.error == code::no_node) return vanished(one, out);
  if (got.error != code::ok) {
    // Being looked at will show; who waits is listed again when the session is back.
    if (one->is == state::making) lose_sight(one, got.error, out);
    return;
  }
  judge(one, got.body.texts(), out);
}

void claims::judge(const record_ptr& one, const std::vector<std::string_view>& children, aftermath& out) {
  if (one->doomed) return remove(one, departure::left, inline_work::never, out);
  if (!one->leases.empty()) return grant(one, out);  // entered again, and its permits are there
  const auto& how = one->permits() ? curator_mutex : *settings_.how;
  if (!one->vetted && !one->permits()) {
    if (const auto* theirs = foreign_recipe(how, children))
      return refuse(one,
                    failure(errc::conflict, "others contend for " + one->path + " as " +
                                                (theirs->curator ? "object=" : "layout=") + std::string(theirs->name) +
                                                ", which does not exclude " + (how.curator ? "object=" : "layout=") +
                                                std::string(how.name)),
                    out);
    if (!one->mixed && std::find(children.begin(), children.end(), "leases") != children.end())
      return check_mixed(one, out);
    one->vetted = true;
  }
  const auto line = line_up(how, children);
  const auto mine = find_place(line, one->node);
  if (!mine.there) return vanished(one, out);
  one->ahead = mine.ahead;
  one->behind = mine.behind;
  if (mine.granted && mine.behind > 0) one->last = line.back().node;
  if (mine.granted) return one->permits() ? count_leases(one, out) : grant(one, out);
  wait(one, one->queue() + "/" + mine.watch, out);
}

// The name has been a semaphore. Is it still one?
void claims::check_mixed(const record_ptr& one, aftermath& out) {
  one->mixed = true;
  const bool went =
      send(one, ask_exists(one->pool()), inline_work::never,
           about(one, [this](const record_ptr& it, answer got, aftermath& then) {
             if (got.error == code::unknown || got.error == code::not_sent) return lose_sight(it, got.error, then);
             if (got.error == code::ok && got.body.stat().children > 0)
               return refuse(it, failure(errc::invalid_argument, "this name is in use as a semaphore"), then);
             list(it, then);
           }));
  if (!went) lose_sight(one, code::not_sent, out);
}

void claims::wait(const record_ptr& one, const std::string& path, aftermath& out) {
  if (one->is == state::making && one->how == entry::attempt) {
    standing busy;
    busy.is = standing::kind::busy;
    return refuse(one, busy, out);
  }
  if (one->is == state::making) {
    one->is = state::waiting;
    set_end(one, std::max(one->ends, one->asked + one->wait_lease));
    guard_soon(one);
  }
  if (!path.empty() && one->watching != path) watch(one, path);
  for (auto& done : std::exchange(one->enters, {})) out.answer(std::move(done), stand(*one));
}

void claims::grant(const record_ptr& one, aftermath& out) {
  if (one->doomed) return remove(one, departure::left, inline_work::never, out);
  if (one->mode == lock_mode::shared && one->token == 0) return read_token(one, out);
  const bool waited = one->is == state::waiting;
  if (one->is != state::held) {
    one->is = state::held;
    guard_soon(one);
  }
  one->watching.clear();
  auto enters = std::exchange(one->enters, {});
  // A grant does not move a lease; being told of it in answer to a question does.
  if (!enters.empty()) set_end(one, std::max(one->ends, one->asked + one->lease));
  for (auto& done : enters) out.answer(std::move(done), stand(*one));
  if (waited && enters.empty())
    out.add([this, secret = one->secret, as = stand(*one)] { events_.granted(secret, as); });
}

// Readers carry the token of the last writer. It is read after the place was: a writer that let go before that has
// written it down by then.
void claims::read_token(const record_ptr& one, aftermath& out) {
  const bool went = send(one, ask_data(one->path, false), inline_work::never,
                         about(one, [this](const record_ptr& it, answer got, aftermath& then) {
                           if (it->is != state::making && !it->stands()) return;
                           if (got.error == code::no_node) return vanished(it, then);
                           if (got.error != code::ok) return lose_sight(it, got.error, then);
                           const auto notes = read_lock_notes(got.body.text());
                           const auto made = static_cast<std::uint64_t>(got.body.stat().czxid);
                           it->token = std::max(notes.token, made);  // whoever wrote before it was made has less
                           grant(it, then);
                         }));
  if (!went) lose_sight(one, code::not_sent, out);
}

standing claims::stand(const record& one) const {
  standing out;
  out.mode = one.mode;
  if (one.is == state::held) {
    out.is = standing::kind::held;
    out.token = one.token;
    out.tokens = 1;
    out.behind = one.behind;
  } else {
    out.is = standing::kind::waiting;
    out.ahead = one.ahead;
  }
  return out;
}

// ---- its own node

void claims::guard_soon(const record_ptr& one) {
  to_guard_.emplace_back(time_.now() + guard_after, one);
  schedule(to_guard_.back().first);
}

// From now on we are told if somebody changes or removes it.
void claims::guard(const record_ptr& one) {
  one->guarded = true;
  const auto path = one->own();
  watchers_[path].push_back(one);
  send(one, ask_data(path, true), inline_work::never,
       about(one, [this, path](const record_ptr& it, answer got, aftermath& then) {
         if (path == it->own()) guarded(it, got, then);  // it may hold permits by now, which are other nodes
       }));
}

void claims::guarded(const record_ptr& one, answer got, aftermath& out) {
  if (!one->stands()) return;
  if (got.error == code::no_node) return vanished(one, out);
  if (got.error != code::ok) {
    one->guarded = false;
    return;
  }
  if (got.body.text() == revoked) mark_evicted(one, out);
}

// Somebody asks us to let go. A holder may still be at work: its node stays until its lease is over or it has let go.
void claims::mark_evicted(const record_ptr& one, aftermath& out) {
  if (std::exchange(one->evicted, true)) return;
  bury(one->secret, one->lease, true);
  out.add([this, secret = one->secret] { events_.evicted(secret); });
  if (one->is == state::waiting) remove(one, departure::left, inline_work::never, out);
}

// Its node is not there, although the session lives: somebody has removed it. Evicted by force, it says so above.
void claims::vanished(const record_ptr& one, aftermath& out) {
  ++one->round;
  one->is = state::leaving;
  one->left_as = departure::gone;
  const auto finish = [this](const record_ptr& it, bool broken, aftermath& then) {
    it->evicted |= broken;
    if (it->evicted) bury(it->secret, it->lease, true);
    standing word;
    word.is = standing::kind::gone;
    if (it->evicted) word.reason = standing::cause::evicted;
    it->last_word = word;
    then.add([this, secret = it->secret, broken] { broken ? events_.evicted(secret) : events_.look_again(secret); });
    end(it, then);
  };
  const bool went = send(one, ask_data(one->path, false), inline_work::never,
                         about(one, [finish](const record_ptr& it, answer got, aftermath& then) {
                           const auto id = to_string(it->id);
                           finish(it, got.error == code::ok && read_lock_notes(got.body.text()).broken == id, then);
                         }));
  if (!went) finish(one, false, out);
}

}  // namespace interlock::inline v1::zookeeper_store
