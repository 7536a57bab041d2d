// SPDX-License-Identifier: MIT
#include "cli/acquisition.hpp"

#include "cli/descriptor.hpp"
#include "cli/store.hpp"
#include "cli/words.hpp"

#include <interlock/semaphore.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace interlock::cli {
namespace {

acquire_options wished(const arguments& got, std::optional<milliseconds> wait) {
  acquire_options options;
  options.lease = got.lease;
  options.lock_delay = got.lock_delay.value_or(milliseconds(0));
  options.max_hold = got.max_hold;
  options.mode = got.shared ? lock_mode::shared : lock_mode::exclusive;
  options.permits = got.permits ? got.permits->take : 1;
  options.wait = wait;
  return options;
}

result<guard> attempt(const client& locks, const arguments& got) {
  const auto options = wished(got, milliseconds(0));
  if (got.permits) return semaphore(locks, got.words[0], got.permits->limit).attempt(options);
  return locks.attempt(got.words[0], options);
}

pending<guard> queue(const client& locks, const arguments& got, std::stop_token stop) {
  const auto options = wished(got, got.wait);
  if (got.permits) return semaphore(locks, got.words[0], got.permits->limit).async_acquire(options, std::move(stop));
  return locks.async_acquire(got.words[0], options, std::move(stop));
}

// For people only, so whatever goes wrong here is no reason to stop.
std::string held_by(const client& locks, std::string_view name) {
  try {
    const auto found = locks.traits().survey ? locks.inspect(name) : lock_info{};
    if (found.holders.empty()) return {};
    const auto& first = found.holders.front();
    const auto others = found.holders.size() - 1;
    return ", held by " + who(first) + (others > 0 ? " and " + std::to_string(others) + " more" : "") + " for " +
           spoken(first.age);
  } catch (const lock_error&) {
    return {};
  }
}

// The callback's side of a wait; the waiting thread polls the descriptor.
struct arrival {
  descriptor bell{::eventfd(0, EFD_CLOEXEC)};
  std::optional<result<guard>> outcome{};

  void ring(result<guard> got) {
    outcome.emplace(std::move(got));
    const std::uint64_t once = 1;
    if (::write(bell.get(), &once, sizeof once) != sizeof once) std::terminate();  // an eventfd takes its first one
  }
  /// What ring() wrote is there for the thread that has read this.
  void answer() {
    std::uint64_t rings = 0;
    if (::read(bell.get(), &rings, sizeof rings) != sizeof rings)
      throw std::system_error(errno, std::generic_category(), "eventfd");
  }
};

acquisition wait_for(const client& locks, const arguments& got, signals& caught) {
  arrival there;
  if (there.bell.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  std::stop_source stop;
  std::optional<int> deadly;
  queue(locks, got, stop.get_token()).then([&there](result<guard> reply) { there.ring(std::move(reply)); });
  while (true) {
    std::array<pollfd, 2> wait{pollfd{there.bell.get(), POLLIN, 0}, pollfd{caught.fd(), POLLIN, 0}};
    ::poll(wait.data(), wait.size(), -1);
    if (wait[0].revents != 0) {
      there.answer();
      break;
    }
    while (const auto signal = caught.next()) {
      if (*signal == SIGTSTP) stop_by(*signal);
      if (!signals::deadly(*signal)) continue;
      deadly = *signal;
      stop.request_stop();
    }
  }
  if (deadly) {
    if (*there.outcome) {  // granted at the same moment
      if (auto done = (*there.outcome)->release(); !done) report(done.error());
    }
    return interrupted{*deadly};
  }
  if (!*there.outcome) return there.outcome->error();
  return std::move(**there.outcome);
}

}  // namespace

acquisition acquire(const client& locks, const arguments& got, signals& caught, status_lines& status) {
  // First without queueing: it costs less when the lock is free, and we learn that we are about to wait.
  auto now = attempt(locks, got);
  if (now) return std::move(*now);
  const bool may_wait = got.what == verb::run && got.wait != milliseconds(0);
  if (now.error() != errc::busy || !may_wait) {
    if (now.error() == errc::busy && !got.quiet) say(safe(got.words[0]) + " is busy" + held_by(locks, got.words[0]));
    return now.error();
  }
  status.waiting(got.words[0]);
  if (!got.quiet) say("waiting for " + safe(got.words[0]) + held_by(locks, got.words[0]));
  auto later = wait_for(locks, got, caught);
  if (const auto* why = std::get_if<failure>(&later); why != nullptr && *why == errc::busy && !got.quiet)
    say(safe(got.words[0]) + " was busy for " + spoken(got.wait.value_or(milliseconds(0))) +
        held_by(locks, got.words[0]));
  return later;
}

}  // namespace interlock::cli
