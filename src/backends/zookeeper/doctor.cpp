// SPDX-License-Identifier: MIT
#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/examination.hpp"
#include "backends/zookeeper/requests.hpp"

#include <chrono>
#include <utility>

/// What `interlock doctor` asks: each server by itself, then the one that the session is at.
namespace interlock::inline v1::zookeeper_store {

struct claims::examination {
  std::vector<store_check> found{};
  completion<std::vector<store_check>> done{};
  instant asked{};
};

namespace {

std::vector<access> read_access(reader& from) {
  std::vector<access> out;
  for (auto left = from.number(); left > 0 && from.ok(); --left) {
    access one;
    one.rights = from.number();
    one.scheme = from.text();
    one.who = from.text();
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

void claims::examine(completion<std::vector<store_check>> done) {
  const auto all = std::make_shared<examination>();
  all->done = std::move(done);
  const auto longest = longest_;
  examining_.start(
      "interlock-doctor", loop_,
      [settings = settings_, longest](const std::atomic<bool>&) { return examine_servers(settings, longest); },
      [weak = weak_from_this(), all](std::vector<store_check> found) {
        all->found = std::move(found);
        const auto self = weak.lock();
        if (!self) return all->done(failure(errc::closed));
        self->examine_session(all);
      });
}

void claims::examine_session(const std::shared_ptr<examination>& all) {
  const auto at = main_session();
  all->asked = time_.now();
  const bool went = at && at->send(ask_sync(root_.listed()), link::with_the_next, [this, all](answer got) {
    if (got.error != code::ok && got.error != code::no_node) return;
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(time_.now() - all->asked);
    all->found.push_back(
        {store_check::verdict::ok, "sync", "the leader answers in " + std::to_string(took.count()) + " us", {}});
  }) && at->send(ask_data("/zookeeper/config", false), link::with_the_next, [all](answer got) {
    all->found.push_back(check_members(got.error, got.body.text()));
  }) && at->send(ask_rights(root_.listed()), inline_work::never, [this, all](answer got) {
    const auto read = got.error == code::ok ? read_access(got.body) : std::vector<access>{};
    all->found.push_back(check_access(settings_, got.error, read));
    all->done(std::move(all->found));
  });
  if (went) return;
  all->found.push_back({store_check::verdict::warn, "session", "not connected at the moment", "ask again"});
  all->done(std::move(all->found));
}

}  // namespace interlock::inline v1::zookeeper_store
