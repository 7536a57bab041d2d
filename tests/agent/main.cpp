// SPDX-License-Identifier: MIT
//
// A process of its own for tests that kill, freeze and talk to one. It prints one event a line:
//
//   agent hold   URL NAME LEASE_MS    asking; held TOKEN; lost REASON; then answers lines on its input:
//   agent shared URL NAME LEASE_MS      valid        -> valid | not-valid
//   agent permit URL NAME LEASE_MS      write FILE   -> written | refused       (fenced by the token)
//                                       release      -> released | lost | ERROR
//   agent count  URL NAME FILE N LEASE_MS [PAUSE_MS]   N times under the lock: FILE's number + 1; did NUMBER TOKEN
//
// It ends at the end of its input, releasing what it holds.
#include <interlock/interlock.hpp>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace interlock;

// One write a line: lines of two threads do not mix, and nothing is left in a buffer when the process is killed.
void say(std::string line) {
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const auto count = write(STDOUT_FILENO, rest.data(), rest.size());
    if (count <= 0) _exit(3);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string after(const std::string& line, std::string_view word) { return line.substr(word.size()); }

std::string shown_token(const client& locks, const guard& held) {
  return locks.traits().tokens ? to_string(held.token()) : "without a token";
}

std::string answer(guard& held, const std::string& line) {
  if (line == "valid") return held.valid() ? "valid" : "not-valid";
  if (line.starts_with("write ")) {
    fenced_file file(after(line, "write "));
    const auto done = file.write(held.token(), "by " + to_string(held.token()));
    if (done) return "written";
    return done.error() == errc::lost ? "refused" : done.error().message();
  }
  if (line == "release") {
    const auto done = held.release();
    return done ? "released" : std::string(to_string(done.error().kind()));
  }
  return "what is \"" + line + "\"?";
}

guard take(const client& locks, const std::vector<std::string>& words) {
  const auto& verb = words.at(1);
  const milliseconds lease(std::stoll(words.at(4)));
  if (verb == "permit") return semaphore(locks, words.at(3), 1).acquire({.lease = lease});
  return locks.acquire(words.at(3),
                       {.lease = lease, .mode = verb == "shared" ? lock_mode::shared : lock_mode::exclusive});
}

int hold(const std::vector<std::string>& words) {
  const client locks(words.at(2));
  say("asking");
  auto held = take(locks, words);
  say("held " + shown_token(locks, held));
  const std::stop_callback told(held.lost(), [&] { say("lost " + std::string(to_string(held.why_lost()))); });
  for (std::string line; std::getline(std::cin, line);) say(answer(held, line));
  return 0;
}

// Read and write are two steps on purpose: only the lock makes them one. The write itself is one step, so that a kill
// leaves the old number or the new one.
int count(const std::vector<std::string>& words) {
  const client locks(words.at(2));
  const auto& file = words.at(4);
  const auto fresh = file + "." + std::to_string(getpid());
  const milliseconds pause(words.size() > 7 ? std::stoll(words[7]) : 0);
  for (int i = std::stoi(words.at(5)); i > 0; --i, std::this_thread::sleep_for(pause)) {
    const auto held = locks.acquire(words.at(3), {.lease = milliseconds(std::stoll(words.at(6)))});
    long number = 0;
    std::ifstream(file) >> number;
    std::ofstream(fresh) << ++number;
    if (!held.valid()) continue;
    if (std::rename(fresh.c_str(), file.c_str()) != 0) return 1;
    say("did " + std::to_string(number) + " " + shown_token(locks, held));
  }
  return 0;
}

int run(const std::vector<std::string>& words) {
  const std::string verb = words.size() > 1 ? words[1] : "";
  if (verb == "hold" || verb == "shared" || verb == "permit") return hold(words);
  if (verb == "count") return count(words);
  std::cerr << "usage: agent hold|shared|permit URL NAME LEASE_MS, agent count URL NAME FILE N LEASE_MS [PAUSE_MS]\n";
  return 64;
}

}  // namespace

int main(int count_of, char** given) try {
  return run({given, given + count_of});
} catch (const std::exception& error) {
  say(std::string("failed ") + error.what());
  return 1;
}
