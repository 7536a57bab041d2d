// SPDX-License-Identifier: MIT
#include "backends/quorum/onlooking.hpp"

#include "backends/quorum/gathering.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace interlock::inline v1::quorum_store {
namespace {

/// What the nodes say about one claim.
struct sightings {
  claim_info info{};
  std::vector<milliseconds> held{};  // what is left of its lease, on each node that says it is held
  std::map<fencing_token, unsigned> tokens{};
  bool waits = false;

  void add(const claim_info& seen, bool holds) {
    const bool first = held.empty() && !waits;
    if (seen.token) ++tokens[*seen.token];
    const auto age = std::max(info.age, seen.age);
    if (first || (info.host.empty() && !seen.host.empty())) info = seen;
    info.age = age;
    if (holds)
      held.push_back(seen.lease_left);
    else
      waits = true;
  }
};

// The one that was written back to a quorum; a node that answered later may have another for a moment.
std::optional<fencing_token> token_of(const sightings& one, unsigned needed) {
  for (const auto& [token, nodes] : one.tokens)
    if (nodes >= needed) return token;
  return one.tokens.empty() ? std::nullopt : std::optional(one.tokens.rbegin()->first);
}

struct name_sightings {
  std::uint32_t limit = 1;
  std::map<claim_id, sightings> claims{};
};

lock_info judge(const std::string& name, name_sightings& seen, const core::quorum_rules& rules) {
  lock_info out;
  out.name = name;
  out.limit = seen.limit;
  const auto needed = rules.needed_for(seen.limit == 1 ? lock_capacity : seen.limit);
  for (auto& [id, one] : seen.claims) {
    if (one.held.size() >= needed) {
      // It is held as long as enough nodes keep it.
      std::sort(one.held.begin(), one.held.end(), std::greater<>());
      one.info.lease_left = one.held[needed - 1];
      one.info.token = token_of(one, needed);
      out.holders.push_back(std::move(one.info));
    } else if (one.waits) {
      one.info.token.reset();
      out.waiters.push_back(std::move(one.info));
    }
  }
  const auto oldest = [](const claim_info& left, const claim_info& right) { return left.age > right.age; };
  std::stable_sort(out.holders.begin(), out.holders.end(), oldest);
  std::stable_sort(out.waiters.begin(), out.waiters.end(), oldest);
  return out;
}

failure too_few(const quorum& at, std::size_t answered) {
  return failure(errc::unavailable, std::to_string(answered) + " of " + std::to_string(at.size()) +
                                        " nodes have answered; " + at.trouble());
}

}  // namespace

survey_page merge(std::vector<survey_page> pages, const core::quorum_rules& rules, std::size_t most) {
  survey_page out;
  // Behind the last name of a page that was cut short, that node says nothing.
  std::optional<std::string> end;
  for (const auto& page : pages)
    if (page.more && !page.locks.empty() && (!end || page.locks.back().name < *end)) end = page.locks.back().name;
  std::map<std::string, name_sightings> names;
  for (auto& page : pages)
    for (auto& lock : page.locks) {
      if (end && lock.name > *end) continue;
      auto& seen = names[lock.name];
      seen.limit = std::max(seen.limit, lock.limit);
      for (const auto& one : lock.holders) seen.claims[one.id].add(one, true);
      for (const auto& one : lock.waiters) seen.claims[one.id].add(one, false);
    }
  out.more = end.has_value();
  for (auto& [name, seen] : names) {
    if (out.locks.size() == most) {
      out.more = true;
      break;
    }
    auto lock = judge(name, seen, rules);
    if (!lock.holders.empty() || !lock.waiters.empty()) out.locks.push_back(std::move(lock));
  }
  if (out.locks.empty() && end) out.locks.push_back({.name = *end});  // where to go on; taken out again by survey()
  return out;
}

void survey(const std::shared_ptr<quorum>& at, survey_query what, completion<survey_page> done) {
  auto answer = std::make_shared<completion<survey_page>>(std::move(done));
  auto asked = std::make_shared<survey_query>(what);
  auto all = std::make_shared<gathering<survey_page>>(at, [at, asked, answer](auto got) {
    std::vector<survey_page> pages;
    for (auto& one : got)
      if (one && *one) pages.push_back(std::move(**one));
    if (pages.size() < at->rules().needed) return (*answer)(too_few(*at, pages.size()));
    auto page = merge(std::move(pages), at->rules(), asked->most);
    const bool nobody = page.locks.size() == 1 && page.locks[0].holders.empty() && page.locks[0].waiters.empty();
    if (!nobody) return (*answer)(std::move(page));
    // A whole page of leftovers: the next one.
    auto next = *asked;
    next.after = page.locks[0].name;
    survey(at, std::move(next), std::move(*answer));
  });
  all->start([&](unsigned node, completion<survey_page> each) { at->at(node).locks().survey(what, std::move(each)); });
}

void evict(const std::shared_ptr<quorum>& at, std::string_view name, const claim_id& who, bool force,
           completion<bool> done) {
  auto answer = std::make_shared<completion<bool>>(std::move(done));
  auto all = std::make_shared<gathering<bool>>(at, [at, answer](auto got) {
    std::size_t answered = 0;
    bool any = false;
    std::optional<failure> refused;
    for (const auto& one : got) {
      if (!one) continue;
      if (*one) {
        ++answered;
        any = any || **one;
      } else if (one->error() != errc::unavailable && one->error() != errc::indeterminate) {
        refused = one->error();
      }
    }
    if (refused && !any) return (*answer)(*refused);
    if (answered < at->rules().needed) return (*answer)(too_few(*at, answered));
    (*answer)(any);
  });
  all->start(
      [&](unsigned node, completion<bool> each) { at->at(node).locks().evict(name, who, force, std::move(each)); });
}

}  // namespace interlock::inline v1::quorum_store
