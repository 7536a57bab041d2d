// SPDX-License-Identifier: MIT
#include "backends/etcd/examination.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

using verdict = store_check::verdict;

struct examination {
  std::mutex mutex;
  std::size_t open = 0;
  std::vector<result<member_status>> members;
  std::vector<std::string> endpoints;
  std::optional<result<cluster_view>> view;
  std::optional<result<granted_lease>> lease;
  std::optional<result<outcome>> rights;
  bool tls = false;
  completion<std::vector<store_check>> done;
};

void check_members(const examination& all, std::vector<store_check>& out) {
  std::size_t answering = 0;
  std::set<std::string> versions;
  std::set<std::uint64_t> leaders;
  std::string silent;
  for (std::size_t i = 0; i < all.members.size(); ++i) {
    const auto& one = all.members[i];
    if (!one) {
      silent += (silent.empty() ? "" : ", ") + all.endpoints[i];
      continue;
    }
    ++answering;
    versions.insert(one->version);
    if (one->leader != 0) leaders.insert(one->leader);
  }
  std::string named;
  for (const auto& one : versions) named += (named.empty() ? "" : ", ") + one;
  out.push_back({versions.size() > 1 ? verdict::warn : verdict::ok, "server", "etcd " + named,
                 versions.size() > 1 ? "members of different versions: finish the upgrade" : ""});
  out.push_back({silent.empty() ? verdict::ok : verdict::warn, "endpoints",
                 std::to_string(answering) + " of " + std::to_string(all.members.size()) + " answer" +
                     (silent.empty() ? "" : "; silent: " + silent),
                 silent.empty() ? "" : "start them, or take them out of the URL"});
  out.push_back({leaders.size() == 1 ? verdict::ok : verdict::fail, "leader",
                 leaders.empty()      ? "none: nothing can be locked"
                 : leaders.size() > 1 ? "members follow different leaders"
                                      : "all follow one",
                 leaders.size() == 1 ? "" : "a majority of the members must reach each other"});
}

void check_cluster(const examination& all, std::vector<store_check>& out) {
  if (!all.view || !*all.view) {
    out.push_back({verdict::warn, "members", "unknown: " + (all.view ? all.view->error().message() : ""),
                   "the list of members and alarms needs a user who may read it"});
    return;
  }
  const auto& seen = **all.view;
  const auto voting = seen.members - seen.learners;
  out.push_back({voting >= 3 ? verdict::ok : verdict::warn, "members",
                 std::to_string(voting) + (voting == 1 ? " member" : " members") + ": " +
                     std::to_string((voting - 1) / 2) + " may fail",
                 voting >= 3 ? "" : "three or more, so that locks go on when one fails"});
  for (const auto& one : seen.alarms)
    out.push_back({verdict::fail, "alarm", one,
                   one == "NOSPACE" ? "compact, defragment, then `etcdctl alarm disarm`" : "replace that member"});
  if (seen.alarms.empty()) out.push_back({verdict::ok, "alarm", "none", {}});
}

void check_use(const examination& all, std::vector<store_check>& out) {
  const bool may = all.rights && *all.rights;
  out.push_back({may ? verdict::ok : verdict::fail, "rights",
                 may          ? "may read and write the keys of locks"
                 : all.rights ? all.rights->error().message()
                              : "unknown",
                 may ? "" : "grant the user's role readwrite on the prefix"});
  const bool granted = all.lease && *all.lease;
  out.push_back({granted ? verdict::ok : verdict::fail,
                 "leases",
                 granted ? "the shortest lease is " + std::to_string((*all.lease)->seconds) +
                               " s; it is counted on a "
                               "clock that does not jump"
                 : all.lease ? all.lease->error().message()
                             : "unknown",
                 {}});
  out.push_back({all.tls ? verdict::ok : verdict::warn, "tls", all.tls ? "encrypted" : "not encrypted",
                 all.tls ? "" : "etcds://, unless the network is your own"});
}

void one_less(const std::shared_ptr<examination>& all) {
  {
    const std::lock_guard lock(all->mutex);
    if (--all->open > 0) return;
  }
  std::vector<store_check> out;
  check_members(*all, out);
  check_cluster(*all, out);
  check_use(*all, out);
  all->done(std::move(out));
}

}  // namespace

void examine(const std::shared_ptr<link>& along, const etcd_settings& settings,
             completion<std::vector<store_check>> done) {
  const auto all = std::make_shared<examination>();
  all->done = std::move(done);
  for (const auto& one : settings.endpoints) all->endpoints.push_back(one.shown());
  all->tls = settings.tls != nullptr;
  all->members.assign(settings.endpoints.size(), failure(errc::unavailable));
  all->open = settings.endpoints.size() + 3;
  for (std::size_t i = 0; i < settings.endpoints.size(); ++i)
    along->status(i, [all, i](result<member_status> got) {
      {
        const std::lock_guard lock(all->mutex);
        all->members[i] = std::move(got);
      }
      one_less(all);
    });
  const auto kept = [all](auto where) {
    return [all, where](auto got) {
      {
        const std::lock_guard lock(all->mutex);
        ((*all).*where).emplace(std::move(got));
      }
      one_less(all);
    };
  };
  along->view(kept(&examination::view));
  // Rights are asked for whatever a transaction might do, also if it never does it.
  const auto never = settings.prefix + "%right";
  along->commit({{created_at(never, 1)}, {put(never, {}, 0)}, {count(beginning_with(settings.prefix))}},
                kept(&examination::rights));
  along->grant(1, [along, keep = kept(&examination::lease)](result<granted_lease> got) {
    if (got) along->revoke(got->id, [](const result<bool>&) {});
    keep(std::move(got));
  });
}

}  // namespace interlock::inline v1::etcd_store
