// SPDX-License-Identifier: MIT
#include "backends/redis/plain_layout.hpp"

#include "backends/redis/plain_scripts.hpp"
#include "core/claim_book.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace interlock::inline v1::redis_store {
namespace {

std::string_view view(const std::array<char, 32>& value) noexcept { return {value.data(), value.size()}; }

std::uint64_t token_in(std::string_view text) noexcept {
  std::uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

standing held(std::uint64_t token) noexcept {
  standing out;
  out.is = standing::kind::held;
  out.token = token;
  out.tokens = token == 0 ? 0 : 1;
  // Others may be waiting whom nobody can see: the lock is given back between any two of our callers, so that it does
  // not stay in this process for ever.
  out.behind = 1;
  return out;
}

// Kept, so that building a question allocates nothing. The key is for the length of one call; a lease is nearly
// always as long as the last one.
struct kept_words {
  std::string key;
  milliseconds lease{-1};
  command_text lease_words;

  [[nodiscard]] std::string_view words_for(milliseconds wanted) {
    if (wanted != lease) [[unlikely]] {
      lease_words.clear();
      lease_words.argument(wanted.count());
      lease = wanted;
    }
    return lease_words.view();
  }
};
kept_words& at_hand() {
  thread_local kept_words one;
  return one;
}

// SET key value NX PX lease
constexpr packet::beginning begin_set{"*6\r\n$3\r\nSET\r\n"};
constexpr std::string_view if_free_for = "$2\r\nNX\r\n$2\r\nPX\r\n";

/// What becomes of a question to leave.
struct departed {
  completion<departure> done;

  void operator()(const result<reply>& said) {
    if (!said) [[unlikely]]
      return done(said.error());
    const auto was = said->number();
    done(was == 1 ? departure::released : was == 2 ? departure::left : departure::gone);
  }
};

failure strange_key(std::string_view key, std::string_view type) {
  return failure(errc::unsupported, "the key \"" + std::string(key) + "\" is a " + std::string(type) +
                                        ", not a plain lock: another format, or no lock at all; it was left alone");
}

}  // namespace

result<plain_layout::options> plain_layout::read_options(const store_url& url) {
  options out;
  const auto given = [&](std::string_view name) -> const std::string* {
    const auto found = url.options.find(name);
    return found == url.options.end() ? nullptr : &found->second;
  };
  const auto* const key = given("key");
  auto lock = key_template::parse("key", key == nullptr ? "*" : *key);
  if (!lock) return lock.error();
  out.key = std::move(*lock);
  if (const auto* const text = given("signal")) {
    auto signal = key_template::parse("signal", *text);
    if (!signal) return signal.error();
    out.signal = std::move(*signal);
  }
  if (const auto* const text = given("token")) {
    if (*text != "counter" && *text != "none")
      return failure(errc::invalid_argument, "store URL: token is counter or none, not \"" + *text + '"');
    out.tokens = *text == "counter";
  }
  return out;
}

plain_layout::plain_layout(const layout_environment& from, options wish)
    : way_(from.way),
      events_(from.events),
      time_(from.time),
      wish_(std::move(wish)),
      scripts_(all_plain_scripts()),
      cluster_(from.way.facts().mode == "cluster"),
      publish_(cluster_ && from.way.facts().sharded_pubsub ? "SPUBLISH" : "PUBLISH") {}

void plain_layout::begin() {
  way_.subscribe(evictions, [](const result<reply>&) {});
}

void plain_layout::describe(store_traits& traits) const {
  traits.layout = "plain";
  traits.cells = traits.convert = traits.fifo = traits.permits = traits.push = traits.shared = false;
  traits.survey = true;
  traits.tokens = wish_.tokens;
  traits.caveat += wish_.tokens ? "; tokens order the holders that use interlock, not other libraries'"
                                : "; token=none: a holder that stalls past its lease can be stopped by nobody";
}

// ---- entering

std::optional<failure> plain_layout::refusal(const claim& who, std::string_view key) const {
  if (who.mode == lock_mode::shared || who.capacity != lock_capacity)
    return failure(errc::unsupported, "redis: the plain layout has exclusive locks only");
  if (key.starts_with(own_keys))
    return failure(errc::invalid_argument, "redis: keys that begin with " + std::string(own_keys) +
                                               " are interlock's own, and cannot be locks");
  if (cluster_ && wish_.signal && slot_of(key) != slot_of(wish_.signal->key(who.name)))
    return failure(errc::unsupported,
                   "redis: in a cluster the lock and its signal list must be in one slot: put a part "
                   "of the name in {braces}");
  return {};
}

void plain_layout::enter(const claim& who, entry how, inline_work here, completion<standing>&& done) {
  const auto key = wish_.key.key(who.name, at_hand().key);
  if (auto no = refusal(who, key)) [[unlikely]]
    return done(*no);
  if (wish_.tokens) return enter_by_script(who, key, how, here, std::move(done));
  enter_bare(who, key, how, here, std::move(done));
}

// The shortest way: one command of the server's own. It asks for no tombstones: those are remembered here, and what is
// still under way on a connection that broke is ended with it.
void plain_layout::enter_bare(const claim& who, std::string_view key, entry how, inline_work here,
                              completion<standing>&& done) {
  if (buried(who.secret)) [[unlikely]]
    return done(standing{});
  packet out(begin_set);
  out.arg(key).arg(view(value_of(who.secret))).as_sent(if_free_for).as_sent(at_hand().words_for(who.lease));
  // In a bundle it would cost the server more: a command called by a script is no cheaper than one that is sent.
  way_.send(out, here, [this, who, how, done = std::move(done)](result<reply> got) mutable {
    if (!got) [[unlikely]]
      return done(got.error());
    if (!got->nil()) [[likely]]
      return done(held(0));
    // Somebody has it: perhaps we ourselves, if the answer to an earlier enter was lost.
    enter_by_script(who, wish_.key.key(who.name), how, inline_work::never, std::move(done));
  });
}

void plain_layout::enter_by_script(const claim& who, std::string_view key, entry how, inline_work here,
                                   completion<standing>&& done) {
  const auto companion = beside(key, companion_letter);
  const auto value = value_of(who.secret);
  packet out(scripts_.enter, {key, companion, beside(key, mark_letter)}, 7);
  out.arg(view(value)).arg(who.lease.count()).arg(who.wait_lease.count());
  out.arg(how == entry::queue ? "queue" : "attempt").arg(wish_.tokens ? "token" : "none");
  out.arg(pack_who(who.origin)).arg(companion_life(who.lease).count());
  way_.send(out, here, [this, name = who.name, secret = who.secret, done = std::move(done)](result<reply> got) mutable {
    if (!got) return done(got.error());
    auto is = standing_in(*got, name, secret);
    if (is && is->is == standing::kind::waiting)
      sweep_now_and_then(secret, beside(wish_.key.key(name), companion_letter));
    done(std::move(is));
  });
}

// What the scripts answer about one claim; whether it waits decides whether its channel is listened to.
result<standing> plain_layout::standing_in(const reply& said, std::string_view name, const claim_secret& secret) {
  enum : std::int64_t { waiting = 2, busy = 3, gone = 4, strange = 5, wrong = 6 };
  if (said.is() == reply::kind::text) {
    waits_no_more(name, secret);
    return held(token_in(said.text()));
  }
  const auto word = said[0].number();
  const auto left = [&](std::size_t at) { return milliseconds{std::max<std::int64_t>(said[at].number(), 0)}; };
  standing out;
  if (word == waiting) {
    waits(name, secret);
    out.is = standing::kind::waiting;
    out.ahead = static_cast<std::uint32_t>(std::clamp<std::int64_t>(said[1].number(), 0, 1'000'000));
    out.look_again_in = left(2);
    return out;
  }
  if (word == wrong) return failure(errc::unavailable, "the server says: " + std::string(said[1].text()));
  waits_no_more(name, secret);
  if (word == strange) return strange_key(wish_.key.key(name), said[1].text());
  if (word == busy) {
    out.is = standing::kind::busy;
    out.look_again_in = left(1);
    return out;
  }
  if (word != gone) return failure(errc::internal, "redis: a script of the plain layout gave an answer it cannot give");
  if (said[1].number() != 0) out.reason = standing::cause::evicted;
  return out;
}

// ---- looking

struct plain_layout::look_round {
  std::vector<claim> whom;
  standings answers;
  std::atomic<std::size_t> under_way{0};
  completion<standings> done;
};

// A server has all its keys in one place; in a cluster one script reaches one slot.
void plain_layout::look_by(courier& way, std::span<const claim> whom, inline_work here, completion<standings> done) {
  auto round = std::make_shared<look_round>();
  round->whom.assign(whom.begin(), whom.end());
  round->answers.assign(whom.size(), failure(errc::internal, "redis: a claim was not asked about"));
  round->done = std::move(done);
  std::map<std::uint16_t, std::vector<std::size_t>> by_slot;
  for (std::size_t i = 0; i < whom.size(); ++i)
    by_slot[cluster_ ? slot_of(wish_.key.key(whom[i].name)) : std::uint16_t{0}].push_back(i);
  round->under_way = by_slot.size();
  for (const auto& [slot, which] : by_slot) look_at(way, round, which, here);
}

void plain_layout::look_at(courier& way, std::shared_ptr<look_round> round, std::span<const std::size_t> which,
                           inline_work here) {
  const auto route = wish_.key.key(round->whom[which.front()].name);
  packet out(scripts_.look, route, 3 * which.size(), 2 + 4 * which.size());
  milliseconds longest{0};
  for (const auto i : which) {
    const auto key = wish_.key.key(round->whom[i].name);
    out.arg(key).arg(beside(key, companion_letter)).arg(beside(key, mark_letter));
    longest = std::max(longest, round->whom[i].lease);
  }
  out.arg(wish_.tokens ? "token" : "none").arg(companion_life(longest).count());
  for (const auto i : which) {
    const auto& who = round->whom[i];
    out.arg(view(value_of(who.secret))).arg(who.lease.count()).arg(who.wait_lease.count());
    out.arg(who.tokens > 1 ? "fresh" : "");
  }
  way.send(out, here,
           [this, round = std::move(round), asked = std::vector(which.begin(), which.end())](result<reply> got) {
             std::size_t at = 0;
             if (!got)
               for (const auto i : asked) round->answers[i] = got.error();
             else
               for (const auto each : *got) {
                 if (at == asked.size()) break;
                 const auto i = asked[at++];
                 round->answers[i] = standing_in(each, round->whom[i].name, round->whom[i].secret);
               }
             if (round->under_way.fetch_sub(1) == 1) round->done(std::move(round->answers));
           });
}

// ---- leaving

// A release that leaves nothing behind and has no more to do than the server's own commands can; such ones are carried
// out together.
void plain_layout::release(const claim& who, std::string_view key, inline_work here, completion<departure>&& done) {
  packet out(scripts_.release, key, 1, 1);
  out.arg(key).joins(scripts_.release).arg(view(value_of(who.secret)));
  way_.send(out, here, departed{std::move(done)});
}

void plain_layout::leave(const claim& who, finality how, inline_work here, completion<departure>&& done) {
  waits_no_more(who.name, who.secret);
  const bool final = how == finality::final;
  if (final && !wish_.tokens) bury(who);
  const auto key = wish_.key.key(who.name, at_hand().key);
  if (!final && !wish_.tokens && !wish_.signal && !cluster_ && key.find('}') == key.npos)
    return release(who, key, here, std::move(done));
  const auto companion = beside(key, companion_letter);
  const auto signal = wish_.signal ? wish_.signal->key(who.name) : std::string{};
  const auto tomb = final ? std::max(who.lease, core::tomb_time) : milliseconds{0};
  packet out =
      wish_.signal ? packet(scripts_.leave, {key, companion, signal}, 6) : packet(scripts_.leave, {key, companion}, 6);
  out.arg(view(value_of(who.secret))).arg(tomb.count()).arg(companion_life(who.lease).count());
  out.arg(std::int64_t{wish_.tokens ? 1 : 0}).arg(publish_).arg(beside(key, channel_letter));
  way_.send(out, here, departed{std::move(done)});
  if (final) sweep_now_and_then(who.secret, companion);
}

void plain_layout::bury(const claim& who) {
  constexpr std::size_t many = 64;
  const auto now = time_.now();
  const std::lock_guard lock(mutex_);
  if (buried_.size() >= bury_most_) {
    std::erase_if(buried_, [&](const auto& one) { return one.second < now; });
    bury_most_ = std::max(many, 2 * buried_.size());  // so that each is looked at a few times at most
  }
  buried_[who.secret] = now + std::max(who.lease, core::tomb_time);
  any_buried_ = true;
}

bool plain_layout::buried(const claim_secret& secret) {
  if (!any_buried_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  return buried_.contains(secret);
}

// Records of claims that ended without a word would stay as long as the companion is used. One claim in 32, at random,
// pays for clearing up.
void plain_layout::sweep_now_and_then(const claim_secret& secret, std::string_view companion) {
  if (std::to_integer<unsigned>(secret.bytes()[15]) % 32 != 0) return;
  way_.send(packet(scripts_.sweep, {companion}, 0), inline_work::never, [](const result<reply>&) {});
}

void plain_layout::convert(const claim&, lock_mode, std::uint32_t, entry, completion<standing> done) {
  done(failure(errc::unsupported, "redis: the plain layout cannot convert a held lock"));
}

// ---- being told

void plain_layout::waits(std::string_view name, const claim_secret& secret) {
  auto channel = beside(wish_.key.key(name), channel_letter);
  {
    const std::lock_guard lock(mutex_);
    auto& all = waiting_[channel];
    if (std::find(all.begin(), all.end(), secret) != all.end()) return;
    all.push_back(secret);
    waiting_count_.fetch_add(1);
  }
  way_.subscribe(channel, [](const result<reply>&) {});
}

void plain_layout::waits_no_more(std::string_view name, const claim_secret& secret) noexcept {
  if (waiting_count_.load() == 0) return;
  const auto channel = beside(wish_.key.key(name), channel_letter);
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(channel);
    if (found == waiting_.end() || std::erase(found->second, secret) == 0) return;
    waiting_count_.fetch_sub(1);
    if (found->second.empty()) waiting_.erase(found);
  }
  way_.unsubscribe(channel);
}

void plain_layout::message(std::string_view channel, std::string_view payload) noexcept {
  if (channel == evictions) {
    if (const auto whom = secret_of(payload)) events_.evicted(*whom);
    return;
  }
  std::vector<claim_secret> whom;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = waiting_.find(channel); found != waiting_.end()) whom = found->second;
  }
  for (const auto& one : whom) events_.look_again(one);
}

result<std::unique_ptr<layout>> make_plain_layout(const layout_environment& from) {
  auto wish = plain_layout::read_options(from.url);
  if (!wish) return wish.error();
  return std::unique_ptr<layout>(std::make_unique<plain_layout>(from, std::move(*wish)));
}

}  // namespace interlock::inline v1::redis_store
