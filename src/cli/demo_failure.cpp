// SPDX-License-Identifier: MIT
#include "cli/demo_acts.hpp"
#include "cli/demo_file.hpp"

#include <interlock/fence.hpp>

#include <csignal>

namespace interlock::cli::demo {
namespace {

constexpr double lease = 3;
// Beyond the lease: the store's tick, the wake-up, and a busy machine.
constexpr double slack = 1;

std::string lease_text() { return std::to_string(static_cast<int>(lease * 1000)); }

/// Waits for one of them to get the lock, with a clock running on the screen. Nobody: the end of `crew`.
std::pair<std::size_t, line> who_gets_it(const scene& in, std::vector<actor>& crew, instant since, const char* what) {
  while (between(since, boot_clock::now()) < lease + slack + 5) {
    for (std::size_t i = 0; i < crew.size(); ++i)
      if (auto said = crew[i].hear(seconds{0}); said && said->word() == "held") return {i, std::move(*said)};
    const auto passed = between(since, boot_clock::now());
    in.out.live(in.out.bar(passed, lease) + ' ' + decimals(passed, 1) + " s since " + what + ", lease " +
                decimals(lease, 0) + " s");
    rest(seconds{0.03});
  }
  return {crew.size(), {}};
}

}  // namespace

bool act_killed_holder(const scene& in) {
  in.out.act(3, "A holder is killed with -9");
  in.out.say("It cannot clean up. But a lock lasts only for its lease (" + decimals(lease, 0) + " s here), which a");
  in.out.say("live holder renews by itself. So it comes free, and the next one is woken.");
  const std::vector<std::string> role{"holder", in.place.store(), "demo/killed", lease_text()};
  const auto start = boot_clock::now();
  actor first{in.program, "worker A", role};
  first.expect("asking");
  const auto held = first.expect("held");
  in.out.event(between(start, held.when(2)), "worker A holds the lock, token " + held.words.at(1));
  std::vector<actor> queue;
  for (const auto* name : {"worker B", "worker C"}) {
    queue.emplace_back(in.program, name, role).expect("asking");
    rest(seconds{0.25});  // so that B is in the queue before C
  }
  in.out.event(between(start, boot_clock::now()), "workers B and C are queueing");
  // Long enough for a renewal: what frees the lock is not the first lease running out, but the silence.
  rest(seconds{lease / 3});
  first.signal(SIGKILL);
  const auto killed = boot_clock::now();
  in.out.event(between(start, killed), "kill -9 worker A");

  const auto [who, got] = who_gets_it(in, queue, killed, "the kill");
  if (who == queue.size()) {
    in.out.verdict(false, "nobody took over within " + decimals(lease + slack + 5, 0) + " s");
    return false;
  }
  const auto took = between(killed, got.when(2));
  in.out.event(between(start, got.when(2)), queue[who].name() + " holds the lock, token " + got.words.at(1));
  const bool alone = !queue[1 - who].hear(seconds{0.2});
  const bool good = took > 0 && took <= lease + slack && got.number(1) > held.number(1) && alone;
  in.out.verdict(good, queue[who].name() + " took over " + decimals(took, 2) + " s after the kill (lease " +
                           decimals(lease, 0) + " s)" + (alone ? "" : ", but not alone"));
  return good;
}

bool act_frozen_holder(const scene& in) {
  in.out.act(4, "A holder is frozen in mid-work, and wakes up too late");
  in.out.say("The lock was its own and it was about to write; then it stood still for");
  in.out.say("longer than its lease (a swapping host, a paused virtual machine). No lock");
  in.out.say("prevents what it does next. A fencing token does: a number that rises with");
  in.out.say("each grant, checked where the data is.");
  const auto plain = in.place.file("plain"), fenced = in.place.file("fenced");
  const auto role = [&](const char* text) {
    return std::vector<std::string>{"editor", in.place.store(), "demo/frozen", lease_text(), plain, fenced, text};
  };
  const auto start = boot_clock::now();
  actor first{in.program, "worker A", role("A")};
  first.expect("asking");
  const auto held = first.expect("held");
  in.out.event(between(start, held.when(2)), "worker A holds the lock, token " + held.words.at(1) + ", about to write");
  std::vector<actor> queue;
  queue.emplace_back(in.program, "worker B", role("B")).expect("asking");
  rest(seconds{0.25});
  first.signal(SIGSTOP);
  const auto frozen = boot_clock::now();
  in.out.event(between(start, frozen), "worker A is frozen (SIGSTOP); worker B is queueing");

  const auto [who, got] = who_gets_it(in, queue, frozen, "the freeze");
  if (who == queue.size()) {
    in.out.verdict(false, "nobody took over from the frozen holder");
    return false;
  }
  auto& second = queue.front();
  second.tell("write");
  second.expect("wrote_plain");
  second.expect("wrote_fenced");
  second.expect("valid");
  in.out.event(between(start, got.when(2)),
               "worker B holds the lock, token " + got.words.at(1) + ", writes both files");
  first.tell("write");
  first.signal(SIGCONT);
  in.out.event(between(start, boot_clock::now()), "worker A is thawed (SIGCONT) and goes on: it writes both files");
  first.expect("wrote_plain");
  const auto late = first.hear(seconds{10});
  const bool refused = late && late->word() == "refused";
  const auto belief = first.hear(seconds{10});
  const bool knows = belief && belief->word() == "invalid";

  const auto in_plain = content_of(plain);
  const auto in_fenced = fenced_file{fenced}.read().value();
  in.out.say("plain file:   worker " + in_plain + "'s text" + (in_plain == "A" ? ", the newer one is destroyed" : ""));
  in.out.say("fenced file:  worker " + in_fenced + "'s text" +
             (refused ? ", token " + held.words.at(1) + " came after " + got.words.at(1) : ""));
  const bool good = refused && knows && in_plain == "A" && in_fenced == "B" && got.number(1) > held.number(1);
  in.out.verdict(good, good      ? "the late write was refused by its token, and worker A knows it was late"
                       : refused ? "the late write was refused, but the rest did not go as it should"
                                 : "the late write was not refused");
  second.tell("release");
  second.expect("released");
  return good;
}

}  // namespace interlock::cli::demo
