// SPDX-License-Identifier: MIT
#include "backends/redis/native_layout.hpp"

#include "backends/redis/native_record.hpp"
#include "backends/redis/native_scripts.hpp"
#include "backends/redis/native_survey.hpp"

#include "core/origin.hpp"
#include "core/random.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace interlock::inline v1::redis_store {

using namespace native;

namespace {

constexpr std::size_t batch = 128;       // claims in one question
constexpr milliseconds deaf_pause{100};  // between two looks of a waiter that cannot be told
constexpr std::size_t handler_room = 24 * sizeof(void*);

// Who makes a claim, in the words of a record. It is nearly always the one who made the last one.
std::string_view words_for(const claim_origin& who) {
  struct kept_words {
    claim_origin who;
    std::string words;
  };
  thread_local kept_words kept;
  if (kept.words.empty() || !(kept.who == who)) kept = {who, text_of(who)};
  return kept.words;
}

std::string fresh_channel() {
  core::kernel_random from;
  return "ilk1:c:" + to_string(claim_id(from.secret().bytes()));
}

}  // namespace

native_layout::native_layout(const layout_environment& from)
    : way_(from.way),
      events_(from.events),
      own_(core::own_origin({})),
      channel_(fresh_channel()),
      keys_(from.way.facts().mode == "cluster" ? told::all_keys : told::book),
      enter_(enter_script()),
      leave_(leave_script()),
      bundle_(bundle_script()),
      cells_(from.way) {}

void native_layout::begin() {
  way_.subscribe(channel_, [this](const result<reply>& said) {
    if (!said && said.error() == errc::denied) deaf_ = true;
  });
}

void native_layout::describe(store_traits& traits) const {
  traits.layout = "native";
  traits.convert = traits.fifo = traits.permits = traits.push = traits.shared = true;
  traits.survey = traits.tokens = traits.cells = traits.latches = true;
  traits.tick = milliseconds{1};
}

std::string native_layout::route(std::string_view name) const {
  std::string out;
  book_key(out, name);
  return out;
}

void native_layout::message(std::string_view channel, std::string_view payload) noexcept {
  if (channel != channel_) return cells_.message(channel);
  const auto news = read_news(payload);
  if (!news) return;
  if (news->evicted)
    events_.evicted(news->whom);
  else
    events_.granted(news->whom, news->as);
}

standing native_layout::heard(standing as) const noexcept {
  if (as.is == standing::kind::waiting && deaf_)
    as.look_again_in = as.look_again_in > milliseconds{0} ? std::min(as.look_again_in, deaf_pause) : deaf_pause;
  return as;
}

// ---- enter

struct native_layout::entering {
  completion<standing> done;
  const native_layout* layout;
  std::string_view name;
  std::uint32_t tokens;
  lock_mode mode;

  void operator()(const result<reply>& said) {
    if (!said) return done(said.error());
    if (said->is() == reply::kind::number && said->number() > 0) {
      standing held;
      held.is = standing::kind::held;
      held.mode = mode;
      held.token = static_cast<std::uint64_t>(said->number());
      held.tokens = tokens;
      return done(held);
    }
    auto answer = answers(*said).next(name);
    if (!answer) return done(answer.error());
    done(layout->heard(*answer));
  }
};

// A question about one name, with one argument; it may be carried out together with others like it.
void native_layout::ask(const script& what, std::string_view name, const command_text::pieces& argument,
                        inline_work here, reply_handler&& done) {
  if (keys_ == told::all_keys) {
    auto out = question(what, keys_, 1, 1);
    add_keys(out, name, keys_);
    out.arg(argument);
    return way_.send(out, here, std::move(done));
  }
  std::string room;
  way_.send_short({.called = &what, .all = &bundle_, .key = book_key_pieces(name, room), .argument = argument}, here,
                  std::move(done));
}

void native_layout::enter(const claim& who, entry how, inline_work here, completion<standing>&& done) {
  static_assert(sizeof(entering) <= handler_room, "or each request allocates");
  const claim_words words(who, how, channel_, words_for(who.origin != nullptr ? *who.origin : own_));
  const auto tokens = who.mode == lock_mode::shared ? 1 : std::max<std::uint32_t>(who.tokens, 1);
  ask(enter_, who.name, words.pieces(), here,
      reply_handler(std::in_place_type<entering>, std::move(done), this, who.name, tokens, who.mode));
}

// ---- leave

struct native_layout::leaving {
  completion<departure> done;

  void operator()(const result<reply>& said) {
    if (!said) return done(said.error());
    if (said->is() != reply::kind::number) return done(nonsense());
    switch (said->number()) {
      case 0: return done(departure::gone);
      case 1: return done(departure::left);
      case 2: return done(departure::released);
      default: return done(nonsense());
    }
  }
};

void native_layout::leave(const claim& who, finality how, inline_work here, completion<departure>&& done) {
  static_assert(sizeof(leaving) <= handler_room, "or each request allocates");
  if (how == finality::answered)
    return ask(leave_, who.name, {bytes_of(who.secret)}, here,
               reply_handler(std::in_place_type<leaving>, std::move(done)));
  auto out = question(leave_, keys_, 1, 2);
  add_keys(out, who.name, keys_);
  out.arg(bytes_of(who.secret)).arg(tomb_micros(who));
  way_.send(out, here, leaving{std::move(done)});
}

// ---- look

struct native_layout::looking {
  completion<standings> done;
  const native_layout* layout;
  std::size_t count;

  void operator()(const result<reply>& said) {
    if (!said) return done(said.error());
    if (said->is() != reply::kind::list) return done(nonsense());
    standings all;
    all.reserve(count);
    answers list(*said);
    for (std::size_t i = 0; i < count; ++i) {
      auto one = list.next();
      if (one)
        all.emplace_back(layout->heard(*one));
      else
        all.push_back(std::move(one));
    }
    done(std::move(all));
  }
};

namespace {
void add_looks(packet& out, std::span<const claim> whom, told keys) {
  for (const auto& who : whom) add_keys(out, who.name, keys);
  for (const auto& who : whom) add_look(out, who);
}
}  // namespace

void native_layout::look_by(courier& way, std::span<const claim> whom, inline_work here, completion<standings> done) {
  static_assert(sizeof(looking) <= handler_room, "or each request allocates");
  if (whom.size() > batch || (whom.size() > 1 && keys_ == told::all_keys))
    return look_by_slot(way, whom, here, std::move(done));
  if (whom.empty()) return done(standings{});
  auto out = question(look_script(), keys_, whom.size(), whom.size());
  add_looks(out, whom, keys_);
  way.send(out, here, looking{std::move(done), this, whom.size()});
}

/// Answers to parts of one look, until all are there.
struct native_layout::gathering {
  gathering(std::size_t count, completion<standings> then) : done(std::move(then)) {
    all.assign(count, failure(errc::unavailable, "not asked"));
  }
  std::mutex mutex;
  completion<standings> done;
  standings all;
  std::size_t parts = 0;

  void part_done() {
    {
      const std::lock_guard lock(mutex);
      if (--parts > 0) return;
    }
    done(std::move(all));
  }
};

/// What becomes of one part: a failure is its members' alone.
struct native_layout::gathering_part {
  std::shared_ptr<gathering> whole;
  const native_layout* layout;
  std::vector<std::size_t> places;

  void operator()(const result<reply>& said) {
    const bool list = said && said->is() == reply::kind::list;
    answers answered(list ? *said : reply{});
    for (const auto place : places) {
      auto one = !said ? result<standing>(said.error()) : answered.next();
      whole->all[place] = one ? result<standing>(layout->heard(*one)) : std::move(one);
    }
    whole->part_done();
  }
};

void native_layout::look_by_slot(courier& way, std::span<const claim> whom, inline_work here,
                                 completion<standings> done) {
  struct placed {
    std::uint16_t slot;
    std::size_t place;
  };
  std::string key;
  std::vector<placed> order(whom.size());
  for (std::size_t i = 0; i < whom.size(); ++i) {
    book_key(key, whom[i].name);
    order[i] = {keys_ == told::all_keys ? slot_of(key) : std::uint16_t{0}, i};
  }
  std::stable_sort(order.begin(), order.end(), [](placed left, placed right) { return left.slot < right.slot; });

  std::vector<std::pair<std::size_t, std::size_t>> parts;  // of order: from, to
  for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
    while (to < order.size() && to - from < batch && order[to].slot == order[from].slot) ++to;
    parts.emplace_back(from, to);
  }
  auto whole = std::make_shared<gathering>(whom.size(), std::move(done));
  whole->parts = parts.size();
  std::vector<claim> some;
  for (const auto& [from, to] : parts) {
    some.clear();
    std::vector<std::size_t> places;
    for (auto i = from; i < to; ++i) {
      places.push_back(order[i].place);
      some.push_back(whom[order[i].place]);
    }
    auto out = question(look_script(), keys_, some.size(), some.size());
    add_looks(out, some, keys_);
    way.send(out, here, gathering_part{whole, this, std::move(places)});
  }
}

// ---- the rest

struct native_layout::converting {
  completion<standing> done;
  const native_layout* layout;
  std::string_view name;

  void operator()(const result<reply>& said) {
    if (!said) return done(said.error());
    auto answer = answers(*said).next(name);
    if (!answer) return done(answer.error());
    done(layout->heard(*answer));
  }
};

void native_layout::convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how,
                            completion<standing> done) {
  auto out = question(convert_script(), keys_, 1, 1);
  add_keys(out, who.name, keys_);
  add_conversion(out, who, mode, weight, how);
  way_.send(out, inline_work::never, converting{std::move(done), this, who.name});
}

void native_layout::evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) {
  auto out = question(show_script(), keys_, 1, 0);
  add_keys(out, name, keys_);
  way_.send(out, inline_work::never,
            [this, name = std::string(name), who, force, done = std::move(done)](const result<reply>& said) mutable {
              if (!said) return done(said.error());
              // Asked also for nobody: whatever is done to a name, what has ended in it goes.
              evict_found(name, find_shown(*said, who).value_or(claim_secret{}), force, std::move(done));
            });
}

void native_layout::evict_found(std::string_view name, const claim_secret& who, bool force, completion<bool> done) {
  auto out = question(evict_script(), keys_, 1, 1);
  add_keys(out, name, keys_);
  add_eviction(out, who, force);
  way_.send(out, inline_work::never, [done = std::move(done)](const result<reply>& said) mutable {
    if (!said) return done(said.error());
    done(said->number() == 1);
  });
}

void native_layout::survey(survey_query what, completion<survey_page> done) {
  std::make_shared<survey_walk>(way_, keys_, std::move(what), std::move(done))->begin();
}

result<std::unique_ptr<layout>> make_native_layout(const layout_environment& from) {
  return std::unique_ptr<layout>(std::make_unique<native_layout>(from));
}

}  // namespace interlock::inline v1::redis_store
