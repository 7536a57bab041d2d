// SPDX-License-Identifier: MIT
#include "cli/demo.hpp"
#include "cli/demo_file.hpp"
#include "cli/words.hpp"

#include <interlock/clock.hpp>
#include <interlock/interlock.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <system_error>
#include <thread>

/// The processes of the demo. Each says a word when something happened ("held 12 4711000000": token, instant) and does
/// the next thing when it is told to.
namespace interlock::cli {
namespace {

void tell(const std::string& text) { print(text + '\n'); }

std::string now() { return std::to_string(boot_clock::now().time_since_epoch().count()); }

/// Waits for the next cue.
void cue() {
  char letter = 0;
  while (letter != '\n')
    if (::read(STDIN_FILENO, &letter, 1) != 1) throw std::runtime_error("the demo is gone");
}

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) throw std::invalid_argument("not a number: " + text);
  return value;
}

milliseconds duration(const std::string& text) { return milliseconds{static_cast<milliseconds::rep>(number(text))}; }

/// A number in a file, always as wide, so that a reader never meets half of one. What is lost is lost between reading
/// and writing, not by a torn file.
class counter_file {
 public:
  explicit counter_file(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  counter_file(const counter_file&) = delete;
  counter_file& operator=(const counter_file&) = delete;
  ~counter_file() { ::close(fd_); }

  [[nodiscard]] std::uint64_t read() const {
    std::array<char, width> text{};
    if (::pread(fd_, text.data(), width, 0) != static_cast<ssize_t>(width))
      throw std::system_error(errno, std::generic_category(), "cannot read the counter");
    return std::strtoull(std::string{text.data(), width}.c_str(), nullptr, 10);
  }
  void write(std::uint64_t value) const {
    std::array<char, width + 1> text{};
    std::snprintf(text.data(), text.size(), "%012llu", static_cast<unsigned long long>(value));
    if (::pwrite(fd_, text.data(), width, 0) != static_cast<ssize_t>(width))
      throw std::system_error(errno, std::generic_category(), "cannot write the counter");
  }

 private:
  static constexpr std::size_t width = 12;
  int fd_;
};

/// A few hundred microseconds, never the same, so that the workers do not march in step.
std::chrono::microseconds thinking() {
  static std::minstd_rand dice{static_cast<unsigned>(::getpid())};
  return std::chrono::microseconds{std::uniform_int_distribution{200, 800}(dice)};
}

/// counter STORE FILE TIMES locked|bare
void count(const std::vector<std::string>& args) {
  const counter_file file{args.at(2)};
  const auto times = number(args.at(3));
  std::optional<client> locks;
  if (args.at(4) == "locked") locks.emplace(args.at(1));
  tell("ready");
  cue();
  for (std::uint64_t i = 1; i <= times; ++i) {
    guard held;
    if (locks) held = locks->acquire("demo/counter");
    const auto seen = file.read();
    std::this_thread::sleep_for(thinking());
    file.write(seen + 1);
    if (i % 10 == 0) tell("at " + std::to_string(i));
  }
  tell("done");
}

/// holder STORE NAME LEASE: takes the lock and keeps it until told to let go.
void hold(const std::vector<std::string>& args) {
  const client locks{args.at(1)};
  tell("asking");
  auto held = locks.acquire(args.at(2), {.lease = duration(args.at(3))});
  tell("held " + to_string(held.token()) + ' ' + now());
  cue();
  held.release().value();
  tell("released");
}

/// editor STORE NAME LEASE PLAIN FENCED TEXT: takes the lock, sees that it is valid, and then, when told to, writes
/// TEXT to a plain file and to a fenced one. What happens to it between the look and the write is up to the demo.
void edit(const std::vector<std::string>& args) {
  const client locks{args.at(1)};
  const auto& text = args.at(6);
  tell("asking");
  auto held = locks.acquire(args.at(2), {.lease = duration(args.at(3))});
  held.throw_if_lost();
  tell("held " + to_string(held.token()) + ' ' + now());
  cue();
  put_content(args.at(4), text);
  tell("wrote_plain");
  const auto reply = fenced_file{args.at(5)}.write(held.token(), text);
  if (reply)
    tell("wrote_fenced");
  else if (reply.error() == errc::lost)
    tell("refused");
  else
    reply.value();
  tell(held.valid() ? "valid" : "invalid");
  cue();
  if (held.valid()) held.release().value();
  tell("released");
}

/// visitor STORE NAME exclusive|shared ROUNDS HOLD GAP: in and out, in and out.
void visit(const std::vector<std::string>& args) {
  const client locks{args.at(1)};
  const auto mode = args.at(3) == "shared" ? lock_mode::shared : lock_mode::exclusive;
  const auto rounds = number(args.at(4));
  const auto inside = duration(args.at(5)), outside = duration(args.at(6));
  tell("ready");
  cue();
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::this_thread::sleep_for(outside);
    auto held = locks.acquire(args.at(2), {.mode = mode});
    tell("in " + now());
    std::this_thread::sleep_for(inside);
    held.throw_if_lost();
    tell("out " + now());
    held.release().value();
  }
  tell("done");
}

void play(const std::vector<std::string>& args) {
  const auto& role = args.at(0);
  if (role == "counter") return count(args);
  if (role == "holder") return hold(args);
  if (role == "editor") return edit(args);
  if (role == "visitor") return visit(args);
  throw std::invalid_argument("no such role: " + role);
}

}  // namespace

int run_demo_actor(const std::vector<std::string>& args) {
  try {
    play(args);
    return 0;
  } catch (const std::out_of_range&) {
    cli::say("demo-actor: too few arguments; this command is for `interlock demo` only");
    return 64;
  } catch (const std::exception& why) {
    cli::say("demo-actor: " + std::string(why.what()));
    return 1;
  }
}

}  // namespace interlock::cli
