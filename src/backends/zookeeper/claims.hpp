// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/record.hpp"
#include "backends/zookeeper/settings.hpp"

#include "net/away.hpp"

#include <interlock/backend.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace interlock::inline v1::zookeeper_store {

/// The claims of one client, and the sessions they belong to.
///
/// A claim is a node (a semaphore's: first a node in its queue, then one for each permit) that lives as long as its
/// session; the session is at least as long as the claim's lease. The lease itself is counted here: a claim that is not
/// looked at in time is removed by us, and by the servers if we cannot.
class claims final : public session::owner, public std::enable_shared_from_this<claims> {
 public:
  claims(const backend_environment& environment, zookeeper_settings settings);

  result<void> open();
  void close() noexcept;
  [[nodiscard]] milliseconds longest_lease() const noexcept { return longest_ - margin; }

  void enter(const claim& who, entry how, inline_work here, completion<standing> done);
  void look(std::span<const claim> whom, inline_work here, completion<standings> done);
  void leave(const claim& who, finality how, inline_work here, completion<departure> done);
  void survey(survey_query what, completion<survey_page> done);
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done);
  void examine(completion<std::vector<store_check>> done);

  void flush() noexcept;
  [[nodiscard]] std::shared_ptr<link> only_link() const;
  [[nodiscard]] std::shared_ptr<session> main_session() const;
  [[nodiscard]] const zookeeper_settings& settings() const noexcept { return settings_; }
  /// How the record of a claim of this client stands: what no server can know.
  [[nodiscard]] std::optional<milliseconds> lease_left(const claim_id& of) const;

  /// A session outlives the longest lease in it by this much: a follower tells the leader of its sessions every half
  /// tick, and may die with what it had not told. Enough for ticks of two seconds, which is what servers come with.
  static constexpr milliseconds margin{1'000};

 private:
  struct tomb {
    instant until{};
    bool evicted = false;
    std::optional<departure> as{};  // it has left, and whoever asked for that has not been told
  };
  struct tail {
    std::string node{};
    std::uint32_t ahead = 0;
    instant seen{};
  };
  struct look_batch;
  struct confirmation;
  struct examination;

  // session::owner
  void established(session& which, bool fresh) noexcept override;
  void adrift(session& which) noexcept override;
  void expired(session& which) noexcept override;
  void failed(session& which, const failure& why) noexcept override;
  void watched(session& which, const watch_event& what) noexcept override;

  template <class F>
  void change(F&& make) noexcept {
    aftermath out;
    {
      const std::lock_guard lock(mutex_);
      make(out);
    }
    out.run();
  }
  /// A handler for an answer about a record: [mutex_], and only if the record has not moved on meanwhile.
  template <class F>
  answer_handler about(const record_ptr& one, F&& take) {
    return [this, one, round = one->round, take = std::forward<F>(take)](answer got) mutable {
      change([&](aftermath& out) {
        if (one->round == round) take(one, got, out);
      });
    };
  }

  // claims.cpp
  result<milliseconds> probe();
  std::shared_ptr<session> session_for(milliseconds lease);
  std::shared_ptr<session> make_session(milliseconds timeout);
  record_ptr find(const claim_secret& secret) const;
  bool send(const record_ptr& one, std::string request, link::sending when, answer_handler done,
            together as = together::never);
  void schedule(instant when);
  void tend() noexcept;
  void set_end(const record_ptr& one, instant when);
  tomb& bury(const claim_secret& who, milliseconds lease, bool evicted);
  const bool* buried(const claim_secret& who) const;
  void forget(const record_ptr& one);

  // enter.cpp
  record_ptr make_record(const claim& who, entry how);
  void enter_again(const record_ptr& one, completion<standing> done, aftermath& out);
  void begin(const record_ptr& one, inline_work here, aftermath& out);
  void made(const record_ptr& one, answer got, aftermath& out);
  void expect_place(record& one);
  void place_behind(const record_ptr& one, aftermath& out);
  void make_parents(const record_ptr& one);
  void resolve(const record_ptr& one, aftermath& out);
  void resolve_lease(const record_ptr& one, aftermath& out);
  void found(const record_ptr& one, std::string node, bool lease, aftermath& out);
  void not_found(const record_ptr& one, aftermath& out);
  void lose_sight(const record_ptr& one, int error, aftermath& out);
  void fail_enter(const record_ptr& one, const failure& why, aftermath& out);

  // queue.cpp
  void list(const record_ptr& one, aftermath& out);
  void listed(const record_ptr& one, answer got, aftermath& out);
  void judge(const record_ptr& one, const std::vector<std::string_view>& children, aftermath& out);
  void check_mixed(const record_ptr& one, aftermath& out);
  void wait(const record_ptr& one, const std::string& watch, aftermath& out);
  void grant(const record_ptr& one, aftermath& out);
  void read_token(const record_ptr& one, aftermath& out);
  void vanished(const record_ptr& one, aftermath& out);
  void guard_soon(const record_ptr& one);
  void guard(const record_ptr& one);
  void guarded(const record_ptr& one, answer got, aftermath& out);
  void mark_evicted(const record_ptr& one, aftermath& out);
  standing stand(const record& one) const;

  // semaphore.cpp
  void count_leases(const record_ptr& one, aftermath& out);
  void check_limit(const record_ptr& one, std::string lease, std::size_t taken, aftermath& out);
  void decide_permits(const record_ptr& one, std::size_t taken, aftermath& out);
  void take_permits(const record_ptr& one, aftermath& out);

  // leave.cpp
  void remove(const record_ptr& one, departure as, inline_work here, aftermath& out);
  void remember_last(record& one);
  void removed(const record_ptr& one, int error, aftermath& out);
  void remove_one_by_one(const record_ptr& one, aftermath& out);
  void end(const record_ptr& one, aftermath& out);
  void refuse(const record_ptr& one, result<standing> word, aftermath& out);
  void leave_stranger(const claim& who, completion<departure> done, aftermath& out);

  // look.cpp
  void look_at(const claim& who, std::size_t index, const std::shared_ptr<look_batch>& batch, aftermath& out);
  void answer_look(const record_ptr& one, std::size_t index, const std::shared_ptr<look_batch>& batch, aftermath& out);
  void held_looked(const record_ptr& one, std::size_t index, const std::shared_ptr<look_batch>& batch,
                   const confirmation& confirmed, answer got, bool data, aftermath& out);
  void renew_token(const record_ptr& one, std::size_t index, const std::shared_ptr<look_batch>& batch, aftermath& out);

  // doctor.cpp
  void examine_session(const std::shared_ptr<examination>& all);

  // news.cpp
  void settle_link(const record_ptr& one, bool fresh, aftermath& out);
  void watch(const record_ptr& one, const std::string& path);

  const zookeeper_settings settings_;
  const lock_root root_;
  reactor& loop_;
  const time_source& time_;
  backend_events& events_;

  mutable std::mutex mutex_;  // everything below; taken before a session's and a link's
  std::condition_variable first_;
  std::optional<result<void>> opened_;
  bool closed_ = false;
  bool containers_ = true;  // the servers know them
  milliseconds longest_{0};
  std::map<milliseconds, std::shared_ptr<session>> sessions_;
  std::unordered_map<claim_secret, record_ptr> records_;
  std::set<std::pair<instant, record*>> ends_;
  std::deque<std::pair<instant, std::weak_ptr<record>>> to_guard_;
  std::unordered_map<std::string, std::vector<std::weak_ptr<record>>> watchers_;
  std::thread::id gatherer_;                     // who asked for something together with what it asks next
  std::unordered_map<std::string, tail> tails_;  // who was last where we have just let go, by path
  std::unordered_map<claim_secret, tomb> tombs_;
  std::deque<std::pair<instant, claim_secret>> tomb_ends_;
  std::vector<record_ptr> deferred_;  // behind a claim of another session that is leaving the same name
  instant scheduled_ = instant::max();
  net::away<std::vector<store_check>> examining_;
};

}  // namespace interlock::inline v1::zookeeper_store
