// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/requests.hpp"

#include <utility>

/// Permits, as Curator's InterProcessSemaphoreV2 has them: whoever is first in the queue under `locks` may add to what
/// is under `leases`, and only while there is room.
namespace interlock::inline v1::zookeeper_store {

using state = record::state;

void claims::count_leases(const record_ptr& one, aftermath& out) {
  const bool watches = one->how == entry::queue;
  if (watches) watchers_[one->pool()].push_back(one);
  one->watching = one->pool();
  const bool went = send(
      one, ask_children(one->pool(), watches), inline_work::never,
      about(one, [this](const record_ptr& it, answer got, aftermath& then) {
        if (it->is != state::making && !it->stands()) return;
        if (got.error != code::ok && got.error != code::no_node) {
          if (it->is == state::making) lose_sight(it, got.error, then);
          return;
        }
        const auto leases = got.error == code::ok ? got.body.texts() : std::vector<std::string_view>{};
        if (it->is == state::making && !it->mixed) {
          it->mixed = true;
          return check_limit(it, leases.empty() ? std::string{} : std::string(leases.front()), leases.size(), then);
        }
        decide_permits(it, leases.size(), then);
      }));
  if (!went) lose_sight(one, code::not_sent, out);
}

// Nobody may see another limit, and the name must not be in use as a lock.
void claims::check_limit(const record_ptr& one, std::string lease, std::size_t taken, aftermath& out) {
  bool went = send(one, ask_children(one->path, false), inline_work::never,
                   about(one, [this, lease, taken](const record_ptr& it, answer got, aftermath& then) {
                     if (got.error != code::ok) return lose_sight(it, got.error, then);
                     const auto line = line_up(*settings_.how, got.body.texts());
                     if (!line.empty())
                       return refuse(it, failure(errc::invalid_argument, "this name is in use as a lock"), then);
                     if (lease.empty()) decide_permits(it, taken, then);
                   }));
  if (went && !lease.empty())
    went = send(one, ask_data(one->pool() + "/" + lease, false), inline_work::never,
                about(one, [this, taken](const record_ptr& it, answer got, aftermath& then) {
                  if (got.error == code::no_node) return list(it, then);
                  if (got.error != code::ok) return lose_sight(it, got.error, then);
                  const auto notes = read_notes(got.body.text());
                  if (notes && notes->limit != it->capacity)
                    return refuse(it,
                                  failure(errc::invalid_argument, "this semaphore has a limit of " +
                                                                      std::to_string(notes->limit) + ", not " +
                                                                      std::to_string(it->capacity)),
                                  then);
                  decide_permits(it, taken, then);
                }));
  if (!went) lose_sight(one, code::not_sent, out);
}

void claims::decide_permits(const record_ptr& one, std::size_t taken, aftermath& out) {
  if (taken + one->weight <= one->capacity) return take_permits(one, out);
  one->ahead = 0;
  wait(one, {}, out);  // `leases` is watched already
}

// In one change: the permits come and the place in the queue goes, so nobody sees both or neither.
void claims::take_permits(const record_ptr& one, aftermath& out) {
  std::vector<std::string> steps;
  // Served in the order of the queue, so the place there is the token; the permits only carry it.
  auto notes = one->notes;
  notes.token = one->token;
  const auto node = one->pool() + "/" + node_prefix(curator_mutex, one->id, lease_marker);
  for (std::uint32_t i = 0; i < one->weight; ++i)
    steps.push_back(ask_create(node, write_notes(notes), settings_.whose, node_kind::ephemeral_sequential));
  steps.push_back(ask_delete(one->queue() + "/" + one->node));
  one->watching.clear();
  // Its place in the queue is going to be removed by ourselves: whoever told us of that, or has been asked about it and
  // answers later, must not be taken for news of a theft.
  one->guarded = false;
  ++one->round;
  const bool went = send(
      one, ask_all(steps), inline_work::never, about(one, [this](const record_ptr& it, answer got, aftermath& then) {
        if (it->is != state::making && !it->stands()) return;
        got.error = error_of_all(got.error, got.body);
        if (got.error == code::no_node) {
          // `leases` is not there yet, or our place in the queue is not there any more.
          if (++it->tries > 3) return vanished(it, then);
          const auto kind = containers_ ? node_kind::container : node_kind::lasting;
          send(it, ask_create(it->pool(), {}, rights::anyone, kind), inline_work::never, [](answer) {});
          guard_soon(it);
          return list(it, then);
        }
        if (got.error != code::ok) return lose_sight(it, got.error, then);
        while (it->leases.size() < it->weight) {
          const auto path = next_made(got.body);
          if (path.empty()) return vanished(it, then);
          it->leases.emplace_back(path.substr(path.rfind('/') + 1));
        }
        it->node.clear();
        it->guarded = false;
        it->behind = 0;
        grant(it, then);
      }));
  if (!went) lose_sight(one, code::not_sent, out);
}

}  // namespace interlock::inline v1::zookeeper_store
