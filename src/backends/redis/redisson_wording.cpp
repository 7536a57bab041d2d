// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_wording.hpp"

#include "backends/redis/server_error.hpp"
#include "core/names.hpp"

#include <algorithm>

namespace interlock::inline v1::redis_store::redisson {

namespace {

enum class answer : std::uint8_t { held, waiting, busy, gone, refused, deadlock };  // as in redisson_book.lua

failure refusal(const reply& from, object what, std::string_view name) {
  const auto why = from[1].text();
  const auto shown = core::shown_name(name);
  const auto as = [&](std::string_view is) {
    return failure(errc::invalid_argument, shown + " is in use as " + std::string(is) + ", not as Redisson's object=" +
                                               std::string(to_string(what)) + "; nothing was changed");
  };
  if (why == "rw") return as("a Redisson read/write lock (object=rw)");
  if (why == "lock") return as("a Redisson lock that is not a read/write lock (object=lock, fenced or fair)");
  if (why == "fair") return as("a Redisson fair lock that others queue for (object=fair)");
  if (why == "limit")
    return failure(errc::invalid_argument,
                   shown + " is a semaphore of " + std::string(from[2].text()) + " in Redis; nothing was changed");
  return as("something else: its key has another type");
}

lock_mode mode_of(const reply& from) noexcept { return from.text() == "s" ? lock_mode::shared : lock_mode::exclusive; }

template <class Number>
Number small(const reply& from) noexcept {
  return static_cast<Number>(std::max<std::int64_t>(from.number(), 0));
}

}  // namespace

std::string known_as(object what, const claim_secret& secret) {
  if (what != object::semaphore) return owner_of(secret);
  const auto& bytes = secret.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t keys_of_claim(object what) noexcept {
  switch (what) {
    case object::rw: return 5;
    case object::fenced: return 7;
    default: return 6;
  }
}

void add_keys(packet& to, object what, std::string_view name, std::string_view owner) {
  to.arg(name).arg(book_key(name)).arg(line_key(name)).arg(tomb_key(name, owner));
  switch (what) {
    case object::lock:
    case object::fenced:
    case object::fair: to.arg(queue_key(name)).arg(deadlines_key(name)); break;
    case object::rw: to.arg(timeout_key(name, owner)); break;
    case object::semaphore: to.arg(permits_key(name)).arg(limit_key(name)); break;
  }
  if (what == object::fenced) to.arg(token_key(name));
}

void add_words(packet& to, object what, const claim& who, std::string_view owner) {
  const bool permits = what == object::semaphore;
  to.arg(owner).arg(who.mode == lock_mode::shared ? "s" : "x");
  to.arg(who.lease.count()).arg(who.wait_lease.count());
  to.arg(std::int64_t{std::max<std::uint32_t>(who.tokens, 1)});
  to.arg(std::int64_t{permits ? who.weight : 1}).arg(std::int64_t{permits ? who.capacity : 1});
}

result<standing> read_standing(const reply& from, object what, std::string_view name) {
  if (from.is() == reply::kind::error) return server_failure(from.text());
  if (from.is() != reply::kind::list || from.size() < 3)
    return failure(errc::internal, "Redis answered a script with something else");
  standing out;
  out.mode = mode_of(from[1]);
  out.token = small<std::uint64_t>(from[2]);
  out.tokens = out.token == 0 ? 0 : small<std::uint32_t>(from[3]);
  switch (static_cast<answer>(from[0].number())) {
    case answer::held:
      out.is = standing::kind::held;
      out.ahead = small<std::uint32_t>(from[4]);
      out.behind = small<std::uint32_t>(from[5]);
      break;
    case answer::waiting:
      out.is = standing::kind::waiting;
      out.ahead = small<std::uint32_t>(from[4]);
      out.behind = small<std::uint32_t>(from[5]);
      break;
    case answer::busy: out.is = standing::kind::busy; break;
    case answer::gone:
      out.is = standing::kind::gone;
      out.reason = from[1].text() == "e" ? standing::cause::evicted : standing::cause::unknown;
      return out;
    case answer::refused: return refusal(from, what, name);
    case answer::deadlock:
      return failure(errc::deadlock, "another reader of " + core::shown_name(name) +
                                         " is waiting to upgrade; both would wait for each other");
    default: return failure(errc::internal, "a script answered what it never says");
  }
  out.look_again_in = milliseconds{small<std::int64_t>(from[6])};
  return out;
}

result<departure> read_departure(const reply& from) {
  const auto was = from.text();
  if (was == "r") return departure::released;
  if (was == "l") return departure::left;
  if (was == "g") return departure::gone;
  return failure(errc::internal, "Redis answered a release with something else");
}

}  // namespace interlock::inline v1::redis_store::redisson
