// SPDX-License-Identifier: MIT
#include "backends/redis/examination.hpp"

#include "backends/quorum/gathering.hpp"
#include "backends/quorum/onlooking.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

/// For `interlock doctor`: what is wrong with the nodes taken together, then with each of them.
namespace interlock::inline v1::quorum_store {
namespace {

using verdict = store_check::verdict;
using checks = std::vector<store_check>;
using redis_store::packet;
using redis_store::reply;

constexpr milliseconds tolerable{500};  // between the nodes' clocks

/// What one node said.
struct sight {
  checks own{};
  std::chrono::microseconds ahead{0};  // its wall clock before ours, give or take half a round trip
};

std::int64_t number_in(std::string_view text) noexcept {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

void look_at(node& one, completion<sight> done) {
  auto found = std::make_shared<sight>();
  auto answer = std::make_shared<completion<sight>>(std::move(done));
  const auto before = std::chrono::system_clock::now();
  one.way()->send(packet({"TIME"}), inline_work::never, [&one, found, answer, before](const result<reply>& got) {
    if (!got) return (*answer)(got.error());
    const auto after = std::chrono::system_clock::now();
    const auto theirs =
        std::chrono::seconds(number_in((*got)[0].text())) + std::chrono::microseconds(number_in((*got)[1].text()));
    const auto middle = (before + (after - before) / 2).time_since_epoch();
    found->ahead = std::chrono::duration_cast<std::chrono::microseconds>(theirs - middle);
    redis_store::examine(one.way(), one.server().redis, [found, answer](result<checks> own) {
      if (!own) return (*answer)(own.error());
      found->own = std::move(*own);
      (*answer)(std::move(*found));
    });
  });
}

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void check_masters(const quorum& at, checks& out) {
  const auto& rules = at.rules();
  const auto seen = counted(rules.nodes, "master") + ", of which " + std::to_string(rules.needed) + " must agree";
  if (rules.nodes < 3)
    out.push_back({verdict::warn, "masters", seen + ": when one is down, no lock can be had",
                   "with three or five independent masters some may fail"});
  else if (rules.nodes % 2 == 0)
    out.push_back({verdict::warn, "masters", seen + ": no more may fail than with one master less",
                   "use an odd number of masters"});
  else if (rules.needed == rules.nodes)
    out.push_back({verdict::warn, "masters", seen + ": when one is down, no lock can be had",
                   "a majority is enough: leave out quorum="});
  else
    out.push_back({verdict::ok, "masters", seen, {}});
}

// Two addresses of one server would be two votes of one voter.
void check_same(const quorum& at, checks& out) {
  std::map<std::string, std::string> by_run;
  for (unsigned i = 0; i < at.size(); ++i) {
    const auto run = at.at(i).way()->facts().run_id;
    if (run.empty() || !at.at(i).up()) continue;
    const auto [found, fresh] = by_run.emplace(run, at.at(i).shown());
    if (!fresh)
      out.push_back({verdict::fail, "same server",
                     found->second + " and " + at.at(i).shown() + " are one server, which has two votes",
                     "name every server once"});
  }
}

void check_reach(const quorum& at, checks& out) {
  unsigned up = 0;
  for (unsigned i = 0; i < at.size(); ++i) {
    if (at.at(i).up()) {
      ++up;
      continue;
    }
    const auto why = at.at(i).way()->trouble();
    const auto text = why ? why->message() : at.at(i).shown() + ": not connected";
    const bool replica = text.find("replica") != std::string::npos;
    out.push_back({verdict::warn, replica ? "replica" : "reach", text,
                   replica ? "only independent masters can vote: a replica says what its master says"
                           : "see why it does not answer"});
  }
  if (up == at.size()) out.push_back({verdict::ok, "reach", "all " + counted(up, "node") + " answer", {}});
}

void check_clocks(const std::vector<std::chrono::microseconds>& ahead, checks& out) {
  if (ahead.size() < 2) return;
  const auto [least, most] = std::minmax_element(ahead.begin(), ahead.end());
  const auto apart = std::chrono::duration_cast<milliseconds>(*most - *least);
  const auto seen = "the nodes' clocks are " + std::to_string(apart.count()) + " ms apart";
  if (apart > tolerable)
    out.push_back({verdict::warn, "clocks", seen + ": one that is set right while a lock is held may end it early",
                   "keep the nodes' clocks together, and let them be slewed, never stepped"});
  else
    out.push_back({verdict::ok, "clocks", seen, {}});
}

void check_restarts(quorum& at, checks& out) {
  const auto out_for_now = at.shut_out(at.now(), milliseconds{0});
  for (unsigned i = 0; i < at.size(); ++i)
    if (out_for_now.has(i) && at.at(i).up())
      out.push_back({verdict::warn, "restarted",
                     at.at(i).shown() + " was restarted and may have forgotten locks: it does not count for a while",
                     "wait for " + std::to_string(at.settings().restart_delay.count()) +
                         " ms, or have it keep its data with appendonly yes and appendfsync always"});
}

}  // namespace

void examine(const std::shared_ptr<quorum>& at, completion<checks> done) {
  auto answer = std::make_shared<completion<checks>>(std::move(done));
  auto all = std::make_shared<gathering<sight>>(at, [at, answer](auto got) {
    checks out;
    check_masters(*at, out);
    check_reach(*at, out);
    check_same(*at, out);
    check_restarts(*at, out);
    std::vector<std::chrono::microseconds> ahead;
    for (const auto& one : got)
      if (one && *one) ahead.push_back((*one)->ahead);
    check_clocks(ahead, out);
    for (unsigned i = 0; i < at->size(); ++i) {
      if (!got[i] || !*got[i]) continue;
      for (auto& each : (*got[i])->own) {
        each.seen = at->at(i).shown() + ": " + each.seen;
        out.push_back(std::move(each));
      }
    }
    (*answer)(std::move(out));
  });
  all->start([&](unsigned node, completion<sight> each) { look_at(at->at(node), std::move(each)); });
}

}  // namespace interlock::inline v1::quorum_store
