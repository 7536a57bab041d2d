// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_layout.hpp"

#include "backends/redis/redisson_record.hpp"
#include "backends/redis/redisson_scripts.hpp"
#include "backends/redis/redisson_wording.hpp"
#include "core/names.hpp"
#include "core/random.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace interlock::inline v1::redis_store::redisson {

namespace {

constexpr std::size_t words_of_settings = 3;
constexpr milliseconds tomb_time{60'000};

std::string fresh_client() {
  core::kernel_random random;
  return to_string(claim_id(random.secret().bytes()));
}

}  // namespace

/// Several packets that together answer one look.
struct layout::batch {
  struct part {
    claim who;
    object what;
    std::string owner;
    std::uint64_t heard;
  };
  std::vector<part> parts;
  standings answers;
  std::mutex mutex;
  std::size_t open = 0;
  completion<standings> done;

  void fill(std::span<const std::size_t> which, const result<reply>& got) {
    for (std::size_t i = 0; i < which.size(); ++i) {
      const auto& one = parts[which[i]];
      answers[which[i]] = got ? read_standing((*got)[i], one.what, one.who.name) : result<standing>(got.error());
    }
  }
};

layout::layout(const layout_environment& from, const settings& how)
    : way_(from.way),
      events_(from.events),
      settings_(how),
      client_(fresh_client()),
      channel_(client_channel(client_)),
      waiters_(from.way, from.events),
      latches_(from.way) {}

object layout::kind_of(const claim& who) const noexcept {
  return who.capacity == lock_capacity ? settings_.locks : object::semaphore;
}

void layout::begin() {
  const auto found = way_.facts();
  clustered_ = found.mode == "cluster";
  both_ways_ = clustered_ && found.sharded_pubsub;
  latches_.begin();
  way_.subscribe(channel_, [](const result<reply>&) {});
}

void layout::add_settings(packet& to) const {
  to.arg(both_ways_ ? "1" : "0").arg(settings_.tokens).arg(settings_.fair_wait.count());
}

void layout::describe(store_traits& traits) const {
  const auto what = settings_.locks;
  traits.layout = "redisson, object=" + std::string(to_string(what));
  traits.shared = traits.convert = what == object::rw;
  if (!traits.shared) traits.layout += " (shared mode: object=rw)";
  if (what == object::fair) traits.layout += " (semaphores: object=lock)";
  traits.fifo = what == object::fair;
  traits.permits = what != object::fair;  // Redisson's semaphores have no queue
  traits.push = traits.latches = true;    // cells hold nothing but a latch's count
  traits.tokens = settings_.tokens != "none";
  traits.survey = true;
  traits.tokens = settings_.tokens != "none";
  traits.caveat += what == object::fair
                       ? "; Redisson's processes judge who still waits by their own hosts' clocks"
                       : "; Redisson's processes judge by their own hosts' clocks when a semaphore's permit has ended";
}

void layout::enter(const claim& who, entry how, inline_work here, completion<standing>&& done) {
  const auto what = kind_of(who);
  if (what == object::semaphore && who.weight > most_permits)
    return done(failure(errc::unsupported, "at most " + std::to_string(most_permits) +
                                               " permits can be taken at once from a Redisson semaphore"));
  if (clustered_ && slot_of(who.name) != slot_of(book_key(who.name)))
    return done(failure(errc::invalid_argument, core::shown_name(who.name) +
                                                    " has braces that keep Redisson's keys for it apart in a cluster"));
  const auto owner = known_as(what, who.secret);
  packet out(scripts_of(what).enter.get(), who.name, keys_of_claim(what), words_of_settings + words_of_claim + 2);
  add_keys(out, what, who.name, owner);
  add_settings(out);
  add_words(out, what, who, owner);
  out.arg(pack_who(client_, who.origin)).arg(how == entry::queue ? "queue" : "try");
  const auto heard = waiters_.heard(channel(what, who.name, who.secret));
  way_.send(out, here,
            [this, what, heard, name = std::string(who.name), secret = who.secret,
             done = std::move(done)](result<reply> got) mutable {
              const auto as = got ? read_standing(*got, what, name) : result<standing>(got.error());
              done(as);
              note(what, name, secret, heard, as);
            });
}

// `behind` of a waiting claim is how much of a semaphore is left; `ahead` of a held one, that it waits to upgrade.
void layout::note(object what, std::string_view name, const claim_secret& who, std::uint64_t heard,
                  const result<standing>& as) {
  if (!as) return;  // asked again, or left, by who asked
  const bool held = as->is == standing::kind::held;
  if (as->is == standing::kind::waiting || (held && as->ahead > 0))
    waiters_.wait(channel(what, name, who), who, heard, as->behind > 0 && !held);
  else
    waiters_.stop(channel(what, name, who), who, held);
}

void layout::look_by(courier& way, std::span<const claim> whom, inline_work here, completion<standings> done) {
  auto all = std::make_shared<batch>();
  all->done = std::move(done);
  all->parts.reserve(whom.size());
  all->answers.assign(whom.size(), result<standing>(standing{}));
  std::map<std::pair<object, std::uint16_t>, std::vector<std::size_t>> groups;
  for (const auto& who : whom) {
    const auto what = kind_of(who);
    groups[{what, clustered_ ? slot_of(who.name) : std::uint16_t{0}}].push_back(all->parts.size());
    all->parts.push_back({who, what, known_as(what, who.secret), waiters_.heard(channel(what, who.name, who.secret))});
  }
  all->open = groups.size();
  if (groups.empty()) return all->done(standings{});
  for (const auto& [kind, which] : groups) send_looks(way, all, which, here);
}

void layout::send_looks(courier& way, const std::shared_ptr<batch>& all, std::span<const std::size_t> which,
                        inline_work here) {
  const auto& first = all->parts[which.front()];
  packet out(scripts_of(first.what).look.get(), first.who.name, which.size() * keys_of_claim(first.what),
             words_of_settings + which.size() * words_of_claim);
  for (const auto i : which) add_keys(out, all->parts[i].what, all->parts[i].who.name, all->parts[i].owner);
  add_settings(out);
  for (const auto i : which) add_words(out, all->parts[i].what, all->parts[i].who, all->parts[i].owner);
  way.send(out, here, [this, all, mine = std::vector(which.begin(), which.end())](result<reply> got) {
    {
      const std::lock_guard held(all->mutex);
      all->fill(mine, got);
      if (--all->open > 0) return;
    }
    // The names live until the answer has been given.
    std::vector<std::string> names;
    names.reserve(all->parts.size());
    for (const auto& one : all->parts) names.emplace_back(one.who.name);
    const auto answers = all->answers;
    all->done(std::move(all->answers));
    for (std::size_t i = 0; i < names.size(); ++i)
      note(all->parts[i].what, names[i], all->parts[i].who.secret, all->parts[i].heard, answers[i]);
  });
}

void layout::leave(const claim& who, finality how, inline_work here, completion<departure>&& done) {
  const auto what = kind_of(who);
  const auto owner = known_as(what, who.secret);
  packet out(scripts_of(what).leave.get(), who.name, keys_of_claim(what), words_of_settings + words_of_claim + 4);
  add_keys(out, what, who.name, owner);
  add_settings(out);
  add_words(out, what, who, owner);
  out.arg(how == finality::final ? "t" : "").arg(std::max(who.lease, tomb_time).count()).arg("").arg("");
  auto at = channel(what, who.name, who.secret);
  waiters_.stop(at, who.secret, false);
  way_.send(out, here,
            [this, at = std::move(at), secret = who.secret, done = std::move(done)](result<reply> got) mutable {
              waiters_.stop(at, secret, false);  // an enter before it may have been answered only now
              done(got ? read_departure(*got) : result<departure>(got.error()));
            });
}

void layout::convert(const claim& who, lock_mode mode, std::uint32_t, entry how, completion<standing> done) {
  if (settings_.locks != object::rw)
    return done(failure(errc::unsupported, "only object=rw can be upgraded or downgraded"));
  const auto owner = known_as(object::rw, who.secret);
  packet out(convert_script(), who.name, keys_of_claim(object::rw), words_of_settings + words_of_claim + 2);
  add_keys(out, object::rw, who.name, owner);
  add_settings(out);
  add_words(out, object::rw, who, owner);
  out.arg(mode == lock_mode::shared ? "s" : "x").arg(how == entry::queue ? "queue" : "try");
  const auto heard = waiters_.heard(channel(object::rw, who.name, who.secret));
  way_.send(out, inline_work::never,
            [this, heard, name = std::string(who.name), secret = who.secret,
             done = std::move(done)](result<reply> got) mutable {
              const auto as = got ? read_standing(*got, object::rw, name) : result<standing>(got.error());
              done(as);
              note(object::rw, name, secret, heard, as);
            });
}

// ---- what others say

void layout::message(std::string_view channel, std::string_view payload) noexcept {
  if (channel == channel_) return told_of_eviction(payload);
  if (channel.starts_with("redisson_sc:")) return waiters_.permits(channel, payload);
  if (channel.starts_with("redisson_countdownlatch__channel__")) return latches_.message(channel);
  if (payload.starts_with("granted ")) return told_of_grant(channel, payload);
  waiters_.message(channel, payload);
}

void layout::told_of_eviction(std::string_view owner) noexcept {
  if (owner.size() == sizeof(claim_secret)) return events_.evicted(secret_of_permit(owner));
  if (const auto secret = secret_of(owner)) events_.evicted(*secret);
}

// Another of us let go of a fair lock and passed it on: `granted TOKEN TOKENS BEHIND`, on the channel of one owner.
void layout::told_of_grant(std::string_view channel, std::string_view payload) noexcept {
  const auto thread = channel.rfind(':');
  const auto uuid = thread == channel.npos ? thread : channel.rfind(':', thread - 1);
  const auto secret = uuid == channel.npos ? std::nullopt : secret_of(channel.substr(uuid + 1));
  if (!secret) return;
  std::array<std::uint64_t, 3> numbers{};
  for (auto& number : numbers) {
    const auto space = payload.find(' ');
    if (space == payload.npos) return waiters_.message(channel, payload);
    payload.remove_prefix(space + 1);
    std::from_chars(payload.data(), payload.data() + payload.size(), number);
  }
  standing as;
  as.is = standing::kind::held;
  as.token = numbers[0];
  as.tokens = static_cast<std::uint32_t>(numbers[1]);
  as.behind = static_cast<std::uint32_t>(numbers[2]);
  events_.granted(*secret, as);
}

}  // namespace interlock::inline v1::redis_store::redisson
