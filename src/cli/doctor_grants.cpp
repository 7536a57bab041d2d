// SPDX-License-Identifier: MIT
#include "cli/doctor.hpp"
#include "cli/words.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace interlock::cli {
namespace {

using namespace std::chrono_literals;
using verdict = finding::verdict;

// Always the same one, so that a store does not fill up with names of past examinations.
constexpr std::string_view probe = "interlock.doctor";

std::string micros(std::chrono::nanoseconds span) { return std::to_string(span / 1us) + " us"; }

acquire_options brief(const client& locks) {
  acquire_options options;
  options.lease = std::clamp<milliseconds>(5s, locks.traits().lease_min, locks.traits().lease_max);
  options.wait = 5s;
  return options;
}

failure no_answer(const failure& why) {
  return failure(why.kind(), why == errc::busy ? "another examination is going on" : why.message());
}

struct grant {
  std::uint64_t token;
  std::chrono::nanoseconds took;
};

result<grant> round_trip(const client& locks) {
  const auto before = boot_clock::now();
  auto held = locks.attempt(probe, brief(locks));
  if (!held) return no_answer(held.error());
  if (auto done = held->release(); !done) return done.error();
  return grant{locks.traits().tokens ? held->token().value() : 0, boot_clock::now() - before};
}

// How long a waiter of another client takes to have it after a clean release.
result<std::chrono::nanoseconds> hand_over(const client& from, const client& to) {
  auto held = from.attempt(probe, brief(from));
  if (!held) return no_answer(held.error());
  auto later = to.async_acquire(probe, brief(to));
  for (int i = 0; i < 200 && from.inspect(probe).waiters.empty(); ++i) std::this_thread::sleep_for(5ms);
  const auto before = boot_clock::now();
  if (auto done = held->release(); !done) return done.error();
  auto next = later.get_result();
  const auto took = boot_clock::now() - before;
  if (!next) return next.error();
  if (auto done = next->release(); !done) return done.error();
  return took;
}

void look_at_tokens(const result<grant>& one, const result<grant>& two, findings& out) {
  if (two->token > one->token)
    out.push_back(
        {verdict::ok, "token", "rises: " + std::to_string(one->token) + ", then " + std::to_string(two->token)});
  else
    out.push_back({verdict::fail, "token",
                   "did not rise: " + std::to_string(one->token) + ", then " + std::to_string(two->token),
                   "do not use this store: a late writer could not be told from the present one"});
}

}  // namespace

std::string_view to_string(finding::verdict is) noexcept {
  return is == verdict::ok ? "ok" : is == verdict::warn ? "warn" : "FAIL";
}

void examine_traits(const store_traits& traits, findings& out) {
  const bool strict = traits.guarantee == guarantee::strict;
  out.push_back({strict ? verdict::ok : verdict::warn, "guarantee",
                 std::string(to_string(traits.guarantee)) + (traits.caveat.empty() ? "" : ": " + traits.caveat),
                 strict ? "" : "let what you write to check INTERLOCK_TOKEN"});
  const std::pair<std::string_view, bool> abilities[] = {
      {"shared", traits.shared}, {"permits", traits.permits}, {"fifo", traits.fifo}, {"push", traits.push}};
  const std::string_view missing[] = {"no shared mode", "no permits", "waiters are not served in order of arrival",
                                      "waiters ask again and again instead of being woken"};
  for (std::size_t i = 0; i < std::size(abilities); ++i)
    out.push_back({abilities[i].second ? verdict::ok : verdict::warn, std::string(abilities[i].first),
                   abilities[i].second ? "yes" : std::string(missing[i])});
  const auto top = traits.lease_max == milliseconds::max() ? "any length" : spoken(traits.lease_max);
  out.push_back({verdict::ok, "lease",
                 "from " + spoken(traits.lease_min) + " to " + top + ", counted in steps of " + spoken(traits.tick)});
}

void examine_grants(const client& first, const client& second, findings& out) {
  const auto one = round_trip(first);
  const auto two = one ? round_trip(second) : one;
  if (!two) {
    out.push_back({verdict::fail, "round trip", two.error().message(), "see whether the store can be written to"});
    return;
  }
  const auto took = std::min(one->took, two->took);
  const bool slow = took > 100ms;
  out.push_back({slow ? verdict::warn : verdict::ok, "round trip", "lock and unlock in " + micros(took),
                 slow ? "a store this slow limits how often a lock can change hands" : ""});
  if (first.traits().tokens)
    look_at_tokens(one, two, out);
  else
    out.push_back({verdict::warn, "token", "none: a late writer cannot be told from the present one",
                   "let the store make tokens, unless nothing checks them"});
  if (&first == &second) return;  // inside one client no store is asked
  const auto passed = hand_over(first, second);
  if (!passed) {
    out.push_back({verdict::fail, "hand-over", passed.error().message(), "see whether two clients can use it at once"});
    return;
  }
  const bool late = first.traits().push && *passed > 200ms;
  out.push_back({late ? verdict::warn : verdict::ok, "hand-over", "to a waiter in " + micros(*passed),
                 late ? "wake-ups do not arrive: waiters fall back to their timers" : ""});
}

}  // namespace interlock::cli
