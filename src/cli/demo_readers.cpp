// SPDX-License-Identifier: MIT
#include "cli/demo_acts.hpp"

#include <algorithm>

namespace interlock::cli::demo {
namespace {

constexpr double column = 0.05;  // seconds of the picture
constexpr int columns = 66;

struct visit {
  double from = 0;
  double to = 0;
};

struct visitor {
  actor who;
  bool shared;
  std::vector<visit> visits{};
  bool inside = false;
  bool done = false;
};

/// Picks up what it has said.
void follow(visitor& one, instant start) {
  while (!one.done) {
    const auto said = one.who.hear(seconds{0});
    if (!said) return;
    if (said->word() == "in") {
      const auto at = between(start, said->when(1));
      one.visits.push_back({.from = at, .to = at});
      one.inside = true;
    } else if (said->word() == "out") {
      one.visits.back().to = between(start, said->when(1));
      one.inside = false;
    } else if (said->word() == "done") {
      one.done = true;
    }
  }
}

std::vector<std::string> timeline(const stage& out, const std::vector<visitor>& all, double now) {
  std::vector<std::string> rows;
  for (const auto& one : all) {
    std::string row = one.who.name() + "  ";
    for (int i = 0; i < columns && i * column <= now; ++i) {
      // How it was in the middle of the column: looking at all of it would draw a meeting where one follows the other.
      const auto moment = (i + 0.5) * column;
      const bool in = std::any_of(one.visits.begin(), one.visits.end(), [&](const visit& each) {
        const auto end = one.inside && &each == &one.visits.back() ? now : each.to;
        return each.from <= moment && moment < end;
      });
      row += in ? (one.shared ? out.mark_shared() : out.mark_exclusive()) : out.mark_none();
    }
    rows.push_back(row);
  }
  return rows;
}

struct overlaps {
  std::size_t readers_together = 0;
  std::size_t clashes = 0;  // pairs of visits, at least one by the writer, that overlap
};

overlaps judge(const std::vector<visitor>& all) {
  overlaps found;
  for (const auto& one : all)
    for (const auto& visit_of_one : one.visits) {
      std::size_t readers = one.shared ? 1 : 0;
      for (const auto& other : all) {
        if (&other == &one) continue;
        for (const auto& each : other.visits) {
          // In at the moment this one came: every overlap has such a moment, seen from the later of the two.
          if (each.from > visit_of_one.from || each.to <= visit_of_one.from) continue;
          if (one.shared && other.shared) ++readers;
          if (!one.shared || !other.shared) ++found.clashes;
        }
      }
      found.readers_together = std::max(found.readers_together, readers);
    }
  return found;
}

}  // namespace

bool act_readers_and_writer(const scene& in) {
  in.out.act(5, "Readers together, a writer alone");
  in.out.say("Three processes take the lock shared, one exclusive, each several times.");
  const auto role = [&](const char* mode, const char* rounds, const char* inside, const char* outside) {
    return std::vector<std::string>{"visitor", in.place.store(), "demo/library", mode, rounds, inside, outside};
  };
  std::vector<visitor> all;
  all.push_back({actor{in.program, "reader A", role("shared", "4", "400", "100")}, true});
  all.push_back({actor{in.program, "reader B", role("shared", "4", "350", "150")}, true});
  all.push_back({actor{in.program, "reader C", role("shared", "4", "300", "200")}, true});
  all.push_back({actor{in.program, "writer D", role("exclusive", "3", "250", "450")}, false});
  for (auto& one : all) one.who.expect("ready");
  const auto start = boot_clock::now();
  for (auto& one : all) one.who.tell("go");
  const auto passed = [&] { return between(start, boot_clock::now()); };
  while (std::any_of(all.begin(), all.end(), [](const visitor& one) { return !one.done; })) {
    for (auto& one : all) follow(one, start);
    in.out.live(timeline(in.out, all, passed()));
    if (passed() > 30) throw std::runtime_error("the visitors do not come to an end");
    rest(seconds{0.03});
  }
  for (auto& one : all) one.who.finish();
  in.out.picture(timeline(in.out, all, passed()));
  in.out.say(std::string{in.out.mark_shared()} + " reading  " + std::string{in.out.mark_exclusive()} +
             " writing, one column is " + decimals(column * 1000, 0) + " ms");
  const auto found = judge(all);
  const bool good = found.readers_together >= 2 && found.clashes == 0;
  in.out.verdict(good, "up to " + std::to_string(found.readers_together) +
                           " readers were in together, the writer met " +
                           (found.clashes == 0 ? "nobody" : "others " + std::to_string(found.clashes) + " times"));
  return good;
}

}  // namespace interlock::cli::demo
