// SPDX-License-Identifier: MIT
//
// interlock inside an Asio program: one thread runs the server, its timers and its locks.
//
//   ./asio_coroutine                          the store in memory
//   ./asio_coroutine sqlite:/tmp/locks.db     a file
//
// interlock::async_wait takes any completion token; with use_awaitable the coroutine goes on on its own executor, so
// the data below needs no mutex.

#include <interlock/asio.hpp>
#include <interlock/interlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace net = boost::asio;
using namespace std::chrono_literals;

struct minutes_of_meeting {
  std::vector<std::string> said;
  int speaking = 0, most_speaking = 0;
};

static net::awaitable<void> speak(interlock::client locks, std::string who, minutes_of_meeting& minutes) {
  auto reply = co_await interlock::async_wait(locks.async_acquire("floor", {.wait = 4s}), net::use_awaitable);
  if (!reply) {
    std::fprintf(stderr, "%s: %s\n", who.c_str(), reply.error().message().c_str());
    co_return;
  }
  minutes.most_speaking = std::max(minutes.most_speaking, ++minutes.speaking);
  net::steady_timer talk{co_await net::this_coro::executor, 20ms};
  co_await talk.async_wait(net::use_awaitable);  // the thread serves others meanwhile
  --minutes.speaking;
  minutes.said.push_back(who + " with token " + to_string(reply->token()));
  auto gone = co_await interlock::async_wait(reply->async_release(), net::use_awaitable);
  if (!gone) std::fprintf(stderr, "%s: %s\n", who.c_str(), gone.error().message().c_str());
}

int main(int argc, char** argv) try {
  net::io_context io;
  const interlock::client locks{argc > 1 ? argv[1] : "memory:"};
  minutes_of_meeting minutes;
  for (const auto* who : {"Ada", "Barbara", "Edsger", "Leslie"})
    net::co_spawn(io, speak(locks, who, minutes), net::detached);
  io.run();
  for (const auto& line : minutes.said) std::printf("%s\n", line.c_str());
  return minutes.said.size() == 4 && minutes.most_speaking == 1 ? 0 : 1;
} catch (const std::exception& why) {
  std::fprintf(stderr, "%s\n", why.what());
  return 1;
}
