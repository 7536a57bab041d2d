// SPDX-License-Identifier: MIT
#include "backends/etcd/desk.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

/// survey: which names there are, then who is in line for those of this page, then how long their leases last.
namespace interlock::inline v1::etcd_store {

namespace {
constexpr std::int64_t keys_at_once = 5'000;
constexpr std::size_t names_at_once = 64;
}  // namespace

struct desk::survey_job : std::enable_shared_from_this<survey_job> {
  survey_job(std::shared_ptr<desk> at, survey_query query, completion<survey_page> then)
      : home(std::move(at)), what(std::move(query)), done(std::move(then)) {}

  std::shared_ptr<desk> home;
  survey_query what;
  completion<survey_page> done;
  std::set<std::string> names{};  // decoded
  std::vector<std::string> wanted{};
  std::vector<std::pair<std::string, line>> lines{};
  bool more = false;

  std::mutex mutex{};
  std::size_t open = 0;
  std::map<lease_id, std::int64_t> seconds{};

  void list(key_range from);
  void listed(const result<outcome>& got, key_range from);
  void choose();
  void read_some(std::size_t from);
  void ask_for_leases();
  void finish();
  [[nodiscard]] claim_info describe(const place& one) const;
  void answer(result<survey_page> got) {
    auto last = std::exchange(done, {});
    last(std::move(got));
  }
};

void desk::survey(survey_query what, completion<survey_page> done) {
  auto job = std::make_shared<survey_job>(shared_from_this(), std::move(what), std::move(done));
  if (!job->what.exact) return job->list(keys_.names_beginning(job->what.prefix));
  job->wanted.push_back(job->what.prefix);
  job->read_some(0);
}

void desk::survey_job::list(key_range from) {
  auto keys = get_all(from);
  keys.keys_only = true;
  keys.limit = keys_at_once;
  home->link_->commit({{}, {std::move(keys)}, {}},
                      [self = shared_from_this(), from = std::move(from)](const result<outcome>& got) mutable {
                        self->listed(got, std::move(from));
                      });
}

void desk::survey_job::listed(const result<outcome>& got, key_range from) {
  if (!got) return answer(got.error());
  const auto& page = got->answers.at(0);
  for (const auto& kv : page.found) {
    const auto key = home->keys_.of(kv.key);
    if (key.is != keyring::meaning::kind::claim || !looks_like_a_claim(key.rest)) continue;
    auto name = home->keys_.read(key.written);
    if (name && name->starts_with(what.prefix) && *name > what.after) names.insert(std::move(*name));
  }
  if (!page.more || page.found.empty()) return choose();
  from.key = page.found.back().key + '\0';
  list(std::move(from));
}

// Sorted by name, which is not the order of the keys.
void desk::survey_job::choose() {
  for (const auto& name : names) {
    if (wanted.size() == what.most) {
      more = true;
      break;
    }
    wanted.push_back(name);
  }
  read_some(0);
}

void desk::survey_job::read_some(std::size_t from) {
  if (from >= wanted.size()) return ask_for_leases();
  transaction reads;
  const auto end = std::min(from + names_at_once, wanted.size());
  for (auto i = from; i < end; ++i) reads.then.push_back(get_all(home->keys_.claims(home->keys_.written(wanted[i]))));
  home->link_->commit(reads, [self = shared_from_this(), from, end](result<outcome> got) {
    if (!got) return self->answer(got.error());
    for (auto i = from; i < end; ++i) {
      line all(std::move(got->answers.at(i - from).found));
      if (!all.empty()) self->lines.emplace_back(self->wanted[i], std::move(all));
    }
    self->read_some(end);
  });
}

void desk::survey_job::ask_for_leases() {
  for (const auto& [name, all] : lines)
    for (const auto& one : all.places())
      if (one.kv.lease != 0) seconds[one.kv.lease] = -1;
  open = seconds.size() + 1;
  std::vector<lease_id> asked;
  for (const auto& [id, left] : seconds) asked.push_back(id);
  for (const auto id : asked)
    home->link_->time_to_live(id, [self = shared_from_this(), id](const result<std::int64_t>& got) {
      {
        const std::lock_guard lock(self->mutex);
        self->seconds[id] = got.has_value() ? *got : 0;
      }
      self->finish();
    });
  finish();
}

claim_info desk::survey_job::describe(const place& one) const {
  claim_info out;
  out.id = one.said.id;
  out.mode = one.said.mode;
  out.permits = one.said.capacity == lock_capacity ? 1 : one.said.weight;
  if (const auto token = token_of(one); one.held && token != 0) out.token = fencing_token(token);
  out.host = one.said.origin.host;
  out.program = one.foreign ? "another library" : one.said.origin.program;
  out.purpose = one.said.origin.purpose;
  out.pid = one.said.origin.pid;
  const auto now = std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
  if (!one.foreign) out.age = std::max(now - milliseconds{one.said.since}, milliseconds{0});
  const auto left = seconds.find(one.kv.lease);
  out.lease_left =
      left == seconds.end() ? milliseconds::max() : std::chrono::seconds{std::max<std::int64_t>(left->second, 0)};
  return out;
}

void desk::survey_job::finish() {
  {
    const std::lock_guard lock(mutex);
    if (--open > 0) return;
  }
  survey_page page;
  page.more = more;
  for (const auto& [name, all] : lines) {
    lock_info info;
    info.name = name;
    info.limit = all.capacity() == 0 || all.capacity() == lock_capacity ? 1 : all.capacity();
    for (const auto& one : all.places()) {
      if (one.said.state == claim_text::condition::over) continue;
      const auto left = seconds.find(one.kv.lease);
      if (left != seconds.end() && left->second < 0) continue;  // it ended while we looked
      (one.held ? info.holders : info.waiters).push_back(describe(one));
    }
    if (!info.holders.empty() || !info.waiters.empty()) page.locks.push_back(std::move(info));
  }
  answer(std::move(page));
}

}  // namespace interlock::inline v1::etcd_store
