// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_layout.hpp"
#include "backends/redis/redisson_scripts.hpp"
#include "backends/redis/redisson_wording.hpp"
#include "core/names.hpp"

#include <algorithm>
#include <utility>

/// Looking at locks from outside, and breaking them.
namespace interlock::inline v1::redis_store::redisson {

namespace {
constexpr milliseconds mark_time{std::chrono::hours{24}};
}

void layout::survey(survey_query what, completion<survey_page> done) {
  if (!what.exact) return survey_names(way_, std::move(what), std::move(done));
  ask_about(way_, what.prefix, [name = what.prefix, done = std::move(done)](const result<reply>& got) mutable {
    if (!got) return done(got.error());
    survey_page page;
    auto seen = read_about(name, *got);
    if (!seen.claims.empty()) page.locks.push_back(std::move(seen.info));
    done(std::move(page));
  });
}

// Who a public handle belongs to is found out here, not by the server: it would have to know our hash.
void layout::evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) {
  ask_about(way_, name, [this, name, who, force, done = std::move(done)](const result<reply>& got) mutable {
    if (!got) return done(got.error());
    const auto seen = read_about(name, *got);
    const auto found =
        std::find_if(seen.claims.begin(), seen.claims.end(), [&](const seen_claim& one) { return one.info.id == who; });
    if (found == seen.claims.end()) return done(false);
    evict_seen(name, *found, force, std::move(done));
  });
}

void layout::evict_seen(std::string_view name, const seen_claim& who, bool force, completion<bool> done) {
  if (!force && who.client.empty())
    return done(failure(errc::unsupported, core::shown_name(name) + " is held by a program that is not interlock's " +
                                               "and cannot be told; it can only be broken by force"));
  // A lock nobody queues for does not show whether it is a fair one: this client's word decides.
  const auto what =
      who.what == object::lock && (who.waits || settings_.locks != object::rw) ? settings_.locks : who.what;
  const bool end_it = force || who.waits;  // a waiter believes nothing yet
  claim whose;
  whose.name = name;
  whose.mode = who.info.mode;
  whose.weight = who.info.permits;
  whose.capacity = what == object::semaphore ? whose.weight : lock_capacity;
  const auto& scripts = scripts_of(what);
  packet out((end_it ? scripts.leave : scripts.mark).get(), name, keys_of_claim(what),
             3 + words_of_claim + (end_it ? 4 : 3));
  add_keys(out, what, name, who.owner);
  add_settings(out);
  add_words(out, what, whose, who.owner);
  if (end_it) out.arg("e");
  out.arg(mark_time.count()).arg(who.client.empty() ? std::string{} : client_channel(who.client)).arg(who.owner);
  way_.send(out, inline_work::never, [end_it, done = std::move(done)](const result<reply>& got) mutable {
    if (!got) return done(got.error());
    done(end_it ? got->text() != "g" : got->number() == 1);
  });
}

}  // namespace interlock::inline v1::redis_store::redisson
