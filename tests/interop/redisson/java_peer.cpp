// SPDX-License-Identifier: MIT
#include "interop/redisson/java_peer.hpp"

#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace interlock::test_support {

namespace {
std::vector<std::string> command(const std::string& deployment, int port, std::chrono::milliseconds watchdog) {
  const char* classes = std::getenv("INTERLOCK_REDISSON_PEER");
  if (classes == nullptr) throw std::runtime_error("run this by: ./dev interop redisson");
  return {"java",
          "-Xmx256m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-cp",
          classes,
          "Peer",
          deployment,
          "redis://127.0.0.1:" + std::to_string(port),
          std::to_string(watchdog.count())};
}
}  // namespace

java_peer::java_peer(const std::string& deployment, int port, std::chrono::milliseconds watchdog)
    : process_("/usr/bin/env", command(deployment, port, watchdog)) {
  if (!process_.after("ready", std::chrono::seconds{60})) throw std::runtime_error("Redisson did not come up");
}

void java_peer::tell(const std::string& thread, const std::string& what) { process_.say(thread + " " + what); }

bool java_peer::read_line(std::chrono::milliseconds within) {
  const auto line = process_.line(within);
  if (!line) return false;
  const auto space = line->find(' ');
  if (space != line->npos) said_[line->substr(0, space)].push_back(line->substr(space + 1));
  return true;
}

std::string java_peer::answer(const std::string& thread, std::chrono::milliseconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  auto& mine = said_[thread];
  while (mine.empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !read_line(left)) return "no answer";
  }
  auto first = mine.front();
  mine.pop_front();
  return first;
}

bool java_peer::waits(const std::string& thread, std::chrono::milliseconds for_so_long) {
  const auto end = std::chrono::steady_clock::now() + for_so_long;
  while (said_[thread].empty()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return true;
    read_line(left);
  }
  return false;
}

}  // namespace interlock::test_support
