// SPDX-License-Identifier: MIT
#include "cli/demo_acts.hpp"
#include "cli/demo_file.hpp"

#include <charconv>
#include <numeric>
#include <system_error>

namespace interlock::cli::demo {
namespace {

constexpr int workers = 4;
constexpr std::uint64_t times = 1000;
constexpr std::uint64_t total = workers * times;

struct outcome {
  std::uint64_t counted = 0;
  double took = 0;
  [[nodiscard]] std::uint64_t lost() const { return total - std::min(counted, total); }
};

std::uint64_t read_counter(const std::string& file) {
  const auto text = content_of(file);
  std::uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
    throw std::runtime_error("cannot read " + file);
  return value;
}

std::vector<actor> hire(const scene& in, const std::string& file, const char* how) {
  std::vector<actor> crew;
  for (int i = 0; i < workers; ++i)
    crew.emplace_back(in.program, "worker " + std::string(1, static_cast<char>('A' + i)),
                      std::vector<std::string>{"counter", in.place.store(), file, std::to_string(times), how});
  for (auto& each : crew) each.expect("ready");
  return crew;
}

void show(const scene& in, const std::string& file, const std::vector<std::uint64_t>& made) {
  const auto all = std::accumulate(made.begin(), made.end(), std::uint64_t{0});
  const auto counted = read_counter(file);
  in.out.live({"updates made  " + in.out.bar(static_cast<double>(all), total) + ' ' + std::to_string(all),
               "in the file   " + in.out.bar(static_cast<double>(counted), total) + ' ' + std::to_string(counted)});
}

outcome count_up(const scene& in, const char* how) {
  const auto file = in.place.file(std::string{"counter-"} + how);
  put_content(file, "000000000000");
  auto crew = hire(in, file, how);
  const auto start = boot_clock::now();
  for (auto& each : crew) each.tell("go");

  std::vector<std::uint64_t> made(workers, 0);
  std::vector<bool> done(workers, false);
  for (int left = workers; left > 0;) {
    for (std::size_t i = 0; i < crew.size(); ++i)
      while (!done[i]) {
        const auto said = crew[i].hear(seconds{0});
        if (!said) break;
        if (said->word() == "at") made[i] = said->number(1);
        if (said->word() == "done") done[i] = true, --left;
      }
    show(in, file, made);
    if (left > 0) rest(seconds{0.03});
    if (between(start, boot_clock::now()) > 60) throw std::runtime_error("the workers do not get on");
  }
  const auto took = between(start, boot_clock::now());
  for (auto& each : crew) each.finish();
  in.out.settle();
  return {.counted = read_counter(file), .took = took};
}

}  // namespace

bool act_without_lock(const scene& in) {
  in.out.act(1, "Four workers, one counter, no lock");
  in.out.say("Four processes add 1 to a number in a file, " + std::to_string(times) + " times each:");
  in.out.say("read it, think, write it back.");
  const auto got = count_up(in, "bare");
  in.out.say(std::to_string(total) + " updates were made; the file says " + std::to_string(got.counted) + ".");
  if (got.lost() == 0) {
    in.out.verdict(false, "no update was lost this time, so this act showed nothing");
    return false;
  }
  in.out.verdict(true, "without a lock " + std::to_string(got.lost()) + " of " + std::to_string(total) +
                           " updates were lost: this is the problem");
  return true;
}

bool act_with_lock(const scene& in) {
  in.out.act(2, "The same four workers, with interlock");
  in.out.say("One more line at the top:  auto held = locks.acquire(\"demo/counter\");");
  const auto got = count_up(in, "locked");
  in.out.say(std::to_string(total) + " updates were made; the file says " + std::to_string(got.counted) + ".");
  in.out.say("It took " + decimals(got.took, 1) + " s: now they think one after the other.");
  const bool held = got.counted == total;
  in.out.verdict(
      held, "with interlock " + std::to_string(got.lost()) + " of " + std::to_string(total) + " updates were lost");
  return held;
}

}  // namespace interlock::cli::demo
