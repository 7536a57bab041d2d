// SPDX-License-Identifier: MIT
#include "cli/demo.hpp"

#include "cli/demo_acts.hpp"

#include <array>
#include <cstdio>
#include <exception>

namespace interlock::cli::demo {
namespace {

constexpr std::array acts{act_without_lock, act_with_lock, act_killed_holder, act_frozen_holder,
                          act_readers_and_writer};

bool play(const scene& in, bool (*act)(const scene&)) {
  try {
    return act(in);
  } catch (const interrupted&) {
    throw;
  } catch (const std::exception& why) {
    in.out.verdict(false, why.what());
    return false;
  }
}

void next_steps(stage& out) {
  out.say("Next:");
  out.say("1. In a shell: run a command while nobody else runs it.");
  out.command("interlock run nightly-report -- ./make-report");
  out.say("2. In C++: hold a lock, hand its token on, learn when it is lost.");
  out.command("interlock::client locks{\"sqlite:/var/lib/app/locks.db\"};");
  out.command("auto held = locks.acquire(\"nightly-report\");");
  out.command("write_report(held.token(), held.lost());");
  out.say("3. Read what is promised, and what is not.");
  out.command("docs/guide.md  docs/guarantees.md  docs/fencing.md");
}

int run_acts(stage& out, const std::string& program) {
  const workshop place;
  const auto start = boot_clock::now();
  out.title("interlock demo: locks between real processes, without a server, in about 20 s");
  std::size_t held = 0;
  for (const auto act : acts) {
    if (play({.out = out, .place = place, .program = program}, act)) ++held;
    out.pause();
  }
  const auto took = decimals(between(start, boot_clock::now()), 1);
  out.title("");
  out.verdict(held == acts.size(), std::to_string(held) + " of " + std::to_string(acts.size()) +
                                       " acts went as they should, in " + took + " s");
  if (held == acts.size()) next_steps(out);
  return held == acts.size() ? 0 : 1;
}

}  // namespace
}  // namespace interlock::cli::demo

namespace interlock::cli {

int run_demo(const demo_options& options) {
  demo::stage out{options.color};
  try {
    const demo::orderly_end at_any_time;
    return demo::run_acts(out, options.self.empty() ? "/proc/self/exe" : options.self);
  } catch (const demo::interrupted& by) {
    out.settle();
    std::fprintf(stderr, "interlock demo: interrupted, everything is tidied up\n");
    return 128 + by.signal;
  } catch (const std::exception& why) {
    out.settle();
    std::fprintf(stderr, "interlock demo: %s\n", why.what());
    return 1;
  }
}

}  // namespace interlock::cli
