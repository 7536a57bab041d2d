// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/requests.hpp"

#include <algorithm>
#include <utility>

/// Looking at claims, which renews them.
///
/// What an answer must prove is that the session was alive after the question was asked. A ping does not: a follower
/// that has lost its leader goes on answering pings for a while, and the leader counts without hearing of them. So
/// every batch brings one `sync`, which only the leader can answer, and held claims are read besides. For waiting ones
/// nothing is asked once they are watched, and what they wait for too.
namespace interlock::inline v1::zookeeper_store {

using state = record::state;

struct claims::look_batch {
  standings answers;
  std::size_t left = 0;
  instant asked{};
  completion<standings> done;
  std::vector<std::pair<session*, std::shared_ptr<confirmation>>> confirmed;

  void set(std::size_t index, result<standing> what, aftermath& out) {
    answers[index] = std::move(what);
    if (--left == 0) out.answer(std::move(done), std::move(answers));
  }
};

struct claims::confirmation {
  int error = code::ok;
  std::vector<std::pair<record_ptr, std::size_t>> waiting;
};

void claims::look(std::span<const claim> whom, inline_work, completion<standings> done) {
  std::vector<std::shared_ptr<session>> used;
  change([&](aftermath& out) {
    if (whom.empty()) return out.answer(std::move(done), standings{});
    const auto batch = std::make_shared<look_batch>();
    batch->answers.assign(whom.size(), result<standing>(failure(errc::internal)));
    batch->left = whom.size();
    batch->asked = time_.now();
    batch->done = std::move(done);
    for (std::size_t i = 0; i < whom.size(); ++i) {
      look_at(whom[i], i, batch, out);
      if (const auto one = find(whom[i].secret); one && std::find(used.begin(), used.end(), one->at) == used.end())
        used.push_back(one->at);
    }
  });
  for (const auto& one : used)
    if (const auto to = one->current()) to->flush_left();
}

void claims::look_at(const claim& who, std::size_t index, const std::shared_ptr<look_batch>& batch, aftermath& out) {
  const auto one = find(who.secret);
  if (!one) {
    const auto* evicted = buried(who.secret);
    return batch->set(index, gone(evicted != nullptr && *evicted), out);
  }
  if (one->evicted && one->is == state::held) return batch->set(index, gone(true), out);
  if (one->stands() && one->ends < batch->asked) {
    bury(one->secret, one->lease, one->evicted);
    remove(one, departure::gone, inline_work::never, out);
  }
  if (one->is == state::leaving) {
    one->at_the_end.push_back([batch, index, one](aftermath& then) { batch->set(index, gone(one->evicted), then); });
    return;
  }
  if (!one->stands() || !one->at->is_up())
    return batch->set(index, failure_of(one->at->is_up() ? code::unknown : code::not_sent, "looking"), out);
  // Who waits believes in nothing, and is told of whatever happens to it and to whom it waits for: nothing is asked.
  if (one->is == state::waiting && one->guarded && !one->watching.empty()) return answer_look(one, index, batch, out);
  // What changes a node only the leader can answer too.
  if (one->is == state::held && who.tokens > 1 && one->mode == lock_mode::exclusive && !one->permits())
    return renew_token(one, index, batch, out);

  auto& all = batch->confirmed;
  auto known = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == one->at.get(); });
  if (known == all.end()) {
    const auto fresh = std::make_shared<confirmation>();
    known = all.emplace(all.end(), one->at.get(), fresh);
    const bool went = send(one, ask_sync(root_.listed()), link::with_the_next, [this, fresh, batch](answer got) {
      change([&](aftermath& then) {
        fresh->error = got.error == code::no_node ? code::ok : got.error;
        for (const auto& [it, at] : std::exchange(fresh->waiting, {}))
          if (fresh->error == code::ok)
            answer_look(it, at, batch, then);
          else
            batch->set(at, failure_of(fresh->error, "looking"), then);
      });
    });
    if (!went) fresh->error = code::not_sent;
  }
  const auto confirmed = known->second;
  if (confirmed->error != code::ok) return batch->set(index, failure_of(confirmed->error, "looking"), out);
  if (one->is == state::waiting) {
    confirmed->waiting.emplace_back(one, index);
    return;
  }
  // A watched node says by itself that it was changed; then the list tells the rest.
  const bool read_it = !std::exchange(one->guarded, true) || one->permits();
  if (read_it) watchers_[one->own()].push_back(one);
  auto request = one->permits() || read_it ? ask_data(one->own(), true) : ask_children(one->queue(), false);
  const bool went = send(
      one, std::move(request), link::with_the_next,
      [this, one, index, batch, confirmed, read_it](answer got) {
        change([&](aftermath& then) { held_looked(one, index, batch, *confirmed, got, read_it, then); });
      },
      read_it ? together::never : together::list);
  if (!went) batch->set(index, failure_of(code::not_sent, "looking"), out);
}

void claims::held_looked(const record_ptr& one, std::size_t index, const std::shared_ptr<look_batch>& batch,
                         const confirmation& confirmed, answer got, bool data, aftermath& out) {
  const auto error = confirmed.error != code::ok ? confirmed.error : got.error;
  if (error != code::ok && error != code::no_node) return batch->set(index, failure_of(error, "looking"), out);
  bool there = error == code::ok;
  if (there && data && one->is == state::held && got.body.text() == revoked) mark_evicted(one, out);
  if (there && !data && one->is == state::held) {
    const auto line = line_up(*settings_.how, got.body.texts());
    const auto mine = find_place(line, one->node);
    there = mine.there;
    one->behind = mine.behind;
    if (mine.behind > 0) one->last = line.back().node;
  }
  if (!there && one->stands()) vanished(one, out);
  if (data && one->is == state::held && !one->evicted && !one->permits()) {
    const bool went = send(
        one, ask_children(one->queue(), false), inline_work::never, [this, one, index, batch, confirmed](answer next) {
          change([&](aftermath& then) { held_looked(one, index, batch, confirmed, next, false, then); });
        });
    if (!went) batch->set(index, failure_of(code::not_sent, "looking"), out);
    return;
  }
  answer_look(one, index, batch, out);
}

void claims::answer_look(const record_ptr& one, std::size_t index, const std::shared_ptr<look_batch>& batch,
                         aftermath& out) {
  if (one->is == state::leaving) {
    one->at_the_end.push_back([batch, index, one](aftermath& then) { batch->set(index, gone(one->evicted), then); });
    return;
  }
  if (one->evicted || one->is == state::over) return batch->set(index, gone(one->evicted), out);
  if (!one->stands()) return batch->set(index, failure_of(code::unknown, "looking"), out);
  set_end(one, std::max(one->ends, batch->asked + (one->is == state::held ? one->lease : one->wait_lease)));
  batch->set(index, stand(*one), out);
}

// A new token without letting go: the number of a change to our own node. Whoever queues has a number already, made
// before this one, and will be served after us: so it only counts if nobody does.
void claims::renew_token(const record_ptr& one, std::size_t index, const std::shared_ptr<look_batch>& batch,
                         aftermath& out) {
  auto notes = one->notes;
  notes.renamed = one->version + 1;
  struct outcome {
    int error = code::ok;
    std::uint64_t token = 0;
  };
  const auto fresh = std::make_shared<outcome>();
  one->guarded = false;  // this change of ours uses up the watch
  const bool went =
      send(one, ask_set_data(one->own(), write_notes(notes), one->version), link::with_the_next,
           [this, one, fresh](answer got) {
             const std::lock_guard lock(mutex_);
             fresh->error = got.error;
             if (got.error != code::ok) return;
             const auto stat = got.body.stat();
             one->version = stat.version;
             fresh->token = static_cast<std::uint64_t>(stat.mzxid);
           }) &&
      send(one, ask_children(one->queue(), false), link::with_the_next, [this, one, index, batch, fresh](answer got) {
        change([&](aftermath& then) {
          auto error = fresh->error != code::ok ? fresh->error : got.error;
          if (error == code::no_node && one->stands()) vanished(one, then);
          if (error == code::bad_version && one->is == state::held)
            mark_evicted(one, then);  // nobody else writes there
          if (error != code::ok && error != code::no_node && error != code::bad_version)
            return batch->set(index, failure_of(error, "looking"), then);
          if (error == code::ok && one->is == state::held) {
            const auto line = line_up(*settings_.how, got.body.texts());
            one->behind = find_place(line, one->node).behind;
            if (one->behind > 0) one->last = line.back().node;
            if (one->behind == 0) one->token = fresh->token;
          }
          answer_look(one, index, batch, then);
        });
      });
  if (!went) batch->set(index, failure_of(code::not_sent, "looking"), out);
}

}  // namespace interlock::inline v1::zookeeper_store
