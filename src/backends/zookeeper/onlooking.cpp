// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/requests.hpp"
#include "backends/zookeeper/survey.hpp"

#include <utility>

/// What an administrator does: looks, and ends what others hold.
namespace interlock::inline v1::zookeeper_store {

void claims::survey(survey_query what, completion<survey_page> done) {
  const auto through = main_session();
  if (!through) return done(failure_of(code::not_sent, "looking at locks"));
  look_around(through, root_, *settings_.how, std::move(what),
              [this, done = std::move(done)](result<sight> seen) mutable {
                if (!seen) return done(seen.error());
                survey_page page;
                page.more = seen->more;
                for (const auto& one : seen->locks) {
                  auto& lock = page.locks.emplace_back(describe(one, *settings_.how));
                  for (auto* list : {&lock.holders, &lock.waiters})
                    for (auto& each : *list)
                      if (const auto left = lease_left(each.id)) each.lease_left = *left;
                }
                done(std::move(page));
              });
}

// Gently is Curator's way: "__REVOKE__" in the node, which its holder may heed; ours do. By force the node goes, and
// the lock's own node says whose it was: a node alone that has gone does not tell who removed it.
void claims::evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) {
  const auto through = main_session();
  if (!through) return done(failure_of(code::not_sent, "breaking a lock"));
  look_around(
      through, root_, *settings_.how, {.prefix = std::string(name), .exact = true},
      [this, through, who, force, done = std::move(done)](result<sight> seen) mutable {
        if (!seen) return done(seen.error());
        std::vector<std::string> steps;
        for (const auto& lock : seen->locks) {
          const auto path = root_.of(lock.name);
          auto notes = lock.notes;
          notes.broken = to_string(who);
          if (force) steps.push_back(ask_set_data(path, write_notes(notes)));
          const auto strike = [&](const std::string& folder, const std::string& node) {
            if (id_of(node) == who)
              steps.push_back(force ? ask_delete(folder + "/" + node) : ask_set_data(folder + "/" + node, revoked));
          };
          for (const auto& one : lock.line) strike(path, one.node);
          for (const auto& one : lock.queue) strike(path + "/locks", one);
          for (const auto& one : lock.pool) strike(path + "/leases", one);
        }
        if (steps.size() == (force ? 1 : 0) || seen->locks.empty()) return done(false);
        const auto went = std::make_shared<completion<bool>>(std::move(done));
        if (!through->send(ask_all(steps), inline_work::never, [went](answer got) {
              got.error = error_of_all(got.error, got.body);
              if (got.error == code::ok || got.error == code::no_node) return (*went)(got.error == code::ok);
              (*went)(failure_of(got.error, "breaking a lock"));
            }))
          (*went)(failure_of(code::not_sent, "breaking a lock"));
      });
}

}  // namespace interlock::inline v1::zookeeper_store
