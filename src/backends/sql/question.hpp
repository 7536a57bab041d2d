// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

/// What databases with lock tables have in common: the questions that their procedures are asked, and what the answers
/// mean. The numbers are those of the procedures.
namespace interlock::inline v1::sql {

struct question {
  enum class verb : std::int16_t { enter = 1, look = 2, leave = 3, convert = 4, evict = 5 };
  enum flag : std::int32_t { shared = 1, may_queue = 2, finally = 4, by_force = 8 };

  verb what{};
  claim about{};  ///< evict: the public id stands in the secret's place
  std::int32_t flags = 0;
};

/// A row of answer.
struct reply {
  enum class word : std::int32_t {
    gone = 0,
    gone_evicted = 1,
    held = 2,
    waiting = 3,
    busy = 4,
    other_capacity = 5,
    deadlock = 6,
    released = 7,
    left = 8,
    yes = 9,
    no = 10,
  };
  word is{};
  bool shared = false;
  std::int64_t token = 0, tokens = 0, ahead = 0, behind = 0, again = 0, seq = 0;
};

inline std::int32_t flag_of(lock_mode mode) noexcept { return mode == lock_mode::shared ? question::shared : 0; }
inline std::int32_t flag_of(entry how) noexcept { return how == entry::queue ? question::may_queue : 0; }

inline question to_enter(const claim& who, entry how) {
  return {.what = question::verb::enter, .about = who, .flags = flag_of(who.mode) | flag_of(how)};
}
inline question to_look(const claim& who) {
  return {.what = question::verb::look, .about = who, .flags = flag_of(who.mode)};
}
inline question to_leave(const claim& who, finality how) {
  return {.what = question::verb::leave, .about = who, .flags = how == finality::final ? question::finally : 0};
}
inline question to_convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how) {
  question out{.what = question::verb::convert, .about = who, .flags = flag_of(mode) | flag_of(how)};
  out.about.weight = weight;
  return out;
}
inline question to_evict(std::string_view name, const claim_id& who, bool force) {
  question out{.what = question::verb::evict, .flags = force ? question::by_force : 0};
  out.about.name = name;
  out.about.secret = claim_secret(who.bytes());
  return out;
}

inline result<standing> standing_of(const question& asked, const reply& said) {
  using word = reply::word;
  const auto kind_of = [](std::int64_t n) {
    return n == lock_capacity ? std::string("a lock") : "a semaphore of " + std::to_string(n);
  };
  standing out;
  switch (said.is) {
    case word::other_capacity:
      return failure(errc::invalid_argument, "\"" + std::string(asked.about.name) + "\" is in use as " +
                                                 kind_of(said.again) + " and cannot be " +
                                                 kind_of(asked.about.capacity) + " at the same time");
    case word::deadlock:
      return failure(errc::deadlock, "another reader of \"" + std::string(asked.about.name) +
                                         "\" is waiting to upgrade; both would wait for each other");
    case word::held: out.is = standing::kind::held; break;
    case word::waiting: out.is = standing::kind::waiting; break;
    case word::busy: out.is = standing::kind::busy; break;
    case word::gone: break;
    case word::gone_evicted: out.reason = standing::cause::evicted; break;
    default: return failure(errc::internal, "the store's procedure answers something else than was asked");
  }
  out.mode = said.shared ? lock_mode::shared : lock_mode::exclusive;
  out.token = static_cast<std::uint64_t>(said.token);
  out.tokens = static_cast<std::uint32_t>(said.tokens);
  out.ahead = static_cast<std::uint32_t>(said.ahead);
  out.behind = static_cast<std::uint32_t>(said.behind);
  out.look_again_in = milliseconds(said.again);
  out.memo = static_cast<std::uint64_t>(said.seq);
  return out;
}

inline departure departure_of(const reply& said) noexcept {
  return said.is == reply::word::released ? departure::released
         : said.is == reply::word::left   ? departure::left
                                          : departure::gone;
}

}  // namespace interlock::inline v1::sql
