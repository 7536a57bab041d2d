// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include "core/names.hpp"
#include "core/origin.hpp"
#include "core/registry.hpp"
#include "engine/thread.hpp"

#include <algorithm>
#include <utility>

/// Opening, turning and closing the engine; slots, alarms and events.
namespace interlock::inline v1::runtime {

namespace {

constexpr std::size_t idle_slots_kept = 1024;
constexpr std::size_t most_events = 10'000;

result<std::optional<milliseconds>> url_duration(const store_url& url, std::string_view name) {
  const auto found = url.options.find(name);
  if (found == url.options.end()) return std::optional<milliseconds>{};
  auto span = parse_duration(found->second);
  if (!span)
    return failure(errc::invalid_argument, "store URL: option " + std::string(name) + ": " + span.error().message());
  return std::optional<milliseconds>(*span);
}

// What the URL says, where the program has not said it.
result<void> merge(const store_url& url, client_options& into) {
  for (auto [name, to] : {std::pair{"lease", &into.lease}, {"linger", &into.linger}, {"patience", &into.patience}}) {
    auto said = url_duration(url, name);
    if (!said) return said.error();
    if (!*to) *to = *said;
  }
  if (const auto found = url.options.find("prefix"); found != url.options.end() && into.prefix.empty())
    into.prefix = found->second;
  if (const auto found = url.options.find("require"); found != url.options.end() && !into.require) {
    for (const auto promise : {guarantee::best_effort, guarantee::fenced, guarantee::strict})
      if (found->second == to_string(promise)) into.require = promise;
    if (!into.require)
      return failure(errc::invalid_argument,
                     "store URL: require=" + found->second + " is none of best_effort, fenced, strict");
  }
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& one : words) out += (out.empty() ? "" : ", ") + one;
  return out;
}

}  // namespace

result<std::shared_ptr<engine>> engine::open(std::string_view text, client_options options, foundation base) {
  auto url = parse_url(text);
  if (!url) return url.error();
  auto connect = base.connect ? base.connect : core::find_backend(url->scheme);
  if (!connect)
    return failure(errc::invalid_argument, "store URL: this build has no store \"" + url->scheme + "\"; it has " +
                                               joined(core::known_schemes()));
  if (auto merged = merge(*url, options); !merged) return merged.error();

  auto made = std::make_shared<engine>(*url, std::move(options), std::move(base));
  auto store = connect({*url, made->options_, made->time_, *made, *made->loop_});
  if (!store) return store.error();
  {
    const std::lock_guard lock(made->mutex_);
    made->store_ = std::move(*store);
  }
  made->cells_->attach(made->store_->cells());
  if (const auto most = made->store_->fetches_answers()) {
    made->fetches_answers_ = true;
    made->fetches_in_time_ = *most < made->patience_;
  }
  const auto& has = made->traits();
  if (const auto need = made->options_.require.value_or(guarantee::best_effort); has.guarantee < need) {
    made->close();
    return failure(errc::unsupported, made->shown_url_ + " can promise " + std::string(to_string(has.guarantee)) +
                                          ", not " + std::string(to_string(need)) +
                                          (has.caveat.empty() ? "" : ": " + has.caveat));
  }
  if (made->lease_ < has.lease_min || made->lease_ > has.lease_max) {
    made->close();
    return failure(errc::invalid_argument, "a lease of " + std::to_string(made->lease_.count()) +
                                               " ms is not between " + std::to_string(has.lease_min.count()) + " and " +
                                               std::to_string(has.lease_max.count()) + " ms");
  }
  return made;
}

engine::engine(const store_url& url, client_options options, foundation base)
    : options_(std::move(options)),
      shown_url_(url.shown()),
      time_(*base.time),
      calls_(std::make_shared<notifier>(options_.resume_on,
                                        [this](parker& mine, std::uint32_t seen) { return listen(mine, seen); })),
      loop_(base.loop ? std::move(base.loop) : make_asio_loop()),
      origin_(core::own_origin(options_.purpose)),
      born_in_(fork_generation()),
      lease_(options_.lease.value_or(milliseconds{30'000})),
      linger_(options_.linger.value_or(milliseconds{1'000})),
      patience_(options_.patience.value_or(milliseconds{5'000})),
      cells_(std::make_shared<cell_desk>(*loop_, time_, patience_)) {
  loop_->start([this] { tick(); }, [calls = calls_] { calls->adopt_current_thread(); });
}

engine::~engine() {
  close();
  store_.reset();  // drops unanswered questions, which unpin their claims: the records must still be there
}

failure engine::closed_failure() const {
  return failure(errc::closed, forked() ? "this client belongs to the parent process; open another after fork()"
                                        : "this client was closed");
}

void engine::set_alarm(alarm& what, instant due) {
  timetable_.set(what, due);
  if (due != instant::max()) wake_loop();
}

// [mutex_] Unless it is going to be awake by then.
void engine::wake_loop() {
  if (timetable_.not_before() >= loop_awake_ || closed_) [[likely]]
    return;
  const auto next = timetable_.next();
  if (next >= loop_awake_) return;
  loop_awake_ = next;
  loop_->wake_at(loop_awake_);
}

instant engine::next_due() {
  const std::lock_guard lock(mutex_);
  return timetable_.next();
}

void engine::tick() noexcept {
  aftermath out(time_.now());
  {
    const std::lock_guard lock(mutex_);
    loop_awake_ = instant::max();
    while (auto* due = static_cast<alarm*>(timetable_.take_due(out.now))) {
      if (due->what == alarm::kind::request) {
        timed_out(static_cast<request&>(*due), out);
        continue;
      }
      auto& claim = static_cast<claim_record&>(*due);
      apply(claim, claim.machine.timer(out.now, random_.fraction()), out);
    }
    wake_loop();
  }
  run(out);
}

// What is left of the longest name when the prefix stands before it, and all the other rules.
result<void> engine::check_name(std::string_view name) const {
  const auto longest = traits().name_max;
  return core::check_name(name, longest - std::min(longest, options_.prefix.size()));
}

// A name that has no slot yet is checked. `shown`: as the caller said it, if that is not the same.
result<slot*> engine::slot_of(std::string_view full, std::string_view shown) {
  if (auto* const found = slots_.find(full)) {
    if (found->users == 0) --idle_slots_;
    return found;
  }
  if (const auto good = check_name(options_.prefix.empty() ? full : shown); !good) return good.error();
  auto& made = slots_.add(full);
  if (!shown.empty()) made.shown = std::make_unique<std::string>(shown);
  return &made;
}

// A slot nobody uses is kept for the next time, within reason.
void engine::leave_slot(slot& at) noexcept {
  if (--at.users > 0) [[likely]]
    return;
  if (++idle_slots_ <= idle_slots_kept || closing_) return;  // close() walks through them
  idle_slots_ = 0;
  slots_.erase_if([](const slot& one) { return one.users == 0; });
}

void engine::leave_forgotten() noexcept {
  while (forgotten_count_ > 0) leave_slot(*forgotten_[--forgotten_count_]);
}

void engine::tell_observer(event_kind kind, const slot& at, const claim_secret& who, milliseconds took,
                           loss_reason loss, const failure* why) {
  if (events_waiting_->load(std::memory_order_relaxed) >= most_events) {
    ++dropped_events_;
    return;
  }
  events_waiting_->fetch_add(1, std::memory_order_relaxed);
  calls_->post([call = options_.observer, kind, name = at.name(), who, took, loss,
                why = why != nullptr ? std::optional(*why) : std::nullopt, dropped = std::exchange(dropped_events_, 0),
                waiting = events_waiting_] {
    waiting->fetch_sub(1, std::memory_order_relaxed);
    if (dropped > 0) {
      event lost;
      lost.kind = event_kind::events_dropped;
      lost.count = dropped;
      call(lost);
    }
    event one;
    one.kind = kind;
    one.name = name;
    one.id = public_id(who);
    one.took = took;
    one.loss = loss;
    one.why = why ? &*why : nullptr;
    call(one);
  });
}

void engine::close() noexcept {
  if (forked()) return;
  aftermath out(time_.now(), inline_work::if_brief);
  {
    std::unique_lock lock(mutex_);
    if (closing_) {
      quiet_.wait(lock, [&] { return closed_ || calls_->is_current(); });
      return;
    }
    closing_ = true;
    const failure why(errc::cancelled, "the client was closed");
    for (const auto& record : records_) {
      auto& one = *record;
      if (one.at == nullptr) continue;
      if (one.sole != nullptr) finish(*one.sole, why, out);
      if (one.upgrade != nullptr) finish_convert(one, why, out);
      apply(one, one.machine.give_up(out.now, loss_reason::closed), out);
    }
    slots_.each([&](slot& at) { answer_queue(at, why, false, out); });
  }
  cells_->close();
  run(out);
  {
    std::unique_lock lock(mutex_);
    quiet_.wait_for(lock, linger_, [&] { return leaving_ == 0; });
  }
  if (store_) store_->close();
  loop_->stop();
  {
    const std::lock_guard lock(mutex_);
    for (auto& one : records_) {  // releases that never got their answer
      auto* leaver = std::exchange(one->leaver, nullptr);
      if (leaver == nullptr) continue;
      leaver->on = nullptr;
      finish(*leaver, failure(errc::indeterminate, "the client was closed before the store answered"), out);
    }
  }
  wake(out);
  calls_->stop();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  quiet_.notify_all();
}

}  // namespace interlock::inline v1::runtime
