// SPDX-License-Identifier: MIT
#include "core/names.hpp"
#include "engine/engine.hpp"

#include <algorithm>
#include <condition_variable>
#include <utility>

/// The store: questions go out without the mutex, answers and pushes come in on whatever thread has them.
namespace interlock::inline v1::runtime {

using machine = core::claim_machine;
using phase = machine::phase;

namespace {
constexpr std::size_t batch = 128;
constexpr std::size_t batches_under_way = 2;
constexpr milliseconds batch_overdue{1'000};  // after that it no longer keeps others from being sent
constexpr std::size_t at_one_time = 64;       // so many answers that came together have come at the same time

thread_local const engine* gathers_for = nullptr;  // this thread reads its store, and does the rest afterwards
}  // namespace

/// Goes with a question; unpins its claim also if the store drops the question unanswered.
struct engine::ticket {
  engine* from;
  claim_record* about;
  instant sent;
  ticket(engine* e, claim_record* c, instant t) noexcept : from(e), about(c), sent(t) {}
  ticket(ticket&& other) noexcept : from(std::exchange(other.from, nullptr)), about(other.about), sent(other.sent) {}
  ticket& operator=(ticket&&) = delete;
  ~ticket() {
    if (from != nullptr) [[unlikely]]
      from->on_answer([this](aftermath&) { from->unpin(*about); });
  }
};

struct engine::look_ticket {
  engine* from;
  std::vector<claim_record*> about;
  instant sent;
  look_ticket(engine* e, std::vector<claim_record*> c, instant t) noexcept : from(e), about(std::move(c)), sent(t) {}
  look_ticket(look_ticket&& other) noexcept
      : from(std::exchange(other.from, nullptr)), about(std::move(other.about)), sent(other.sent) {}
  look_ticket& operator=(look_ticket&&) = delete;
  ~look_ticket() {
    if (from == nullptr) return;
    from->on_answer([this](aftermath&) {
      from->batch_over(sent);
      for (auto* one : about) from->unpin(*one);
    });
  }
};

template <class F>
void engine::on_answer(F&& change) noexcept {
  if (gathers_for == this) {
    if (answers_gathered_++ % at_one_time == 0) gathered_.now = time_.now();
    if (answering_) return change(gathered_);
    const std::lock_guard lock(mutex_);
    return change(gathered_);
  }
  aftermath out(time_.now());
  {
    const std::lock_guard lock(mutex_);
    change(out);
  }
  run(out);
}

// Many answers often come in one piece. What they entail is done behind the last one, all at once.
backend::arrival engine::read_together(bool wait) noexcept {
  gathers_for = this;
  const auto got = wait                  ? store_->await_news()
                   : store_->read_news() ? backend::arrival::something
                                         : backend::arrival::the_end;
  gathers_for = nullptr;
  if (std::exchange(answers_gathered_, 0) > 0) {
    run(gathered_);
    gathered_.clear();
  }
  return got;
}

// The mutex is not locked for each of them then.
void engine::answers_begin() noexcept {
  if (gathers_for != this) return;
  mutex_.lock();
  answering_ = true;
}

void engine::answers_end() noexcept {
  if (gathers_for != this) return;
  answering_ = false;
  mutex_.unlock();
}

void engine::unpin(claim_record& one) noexcept {
  --one.pins;
  settle_record(one);
}

// A push comes in the middle of somebody else's request to the store: whoever it is for is woken here, but what the
// store is to be asked because of it is asked from the loop.
template <class F>
void engine::on_push(F&& change) noexcept {
  if (gathers_for == this && answering_) return change(gathered_);
  aftermath out(time_.now());
  {
    const std::lock_guard lock(mutex_);
    change(out);
  }
  wake(out);
  if (!out.questions.empty() || !out.looks.empty())
    loop_->post([this, rest = std::make_shared<aftermath>(std::move(out))] { run(*rest); });
}

void engine::wake(aftermath& out) {
  if (out.sleepers.empty() && out.announced.empty()) [[likely]]
    return;
  out.sleepers.each([](parker* one) { one->unpark(); });
  out.announced.each([](std::shared_ptr<request>& one) {
    auto& its = *one;
    its.announce(std::move(one));
  });
  out.sleepers.clear();
  out.announced.clear();
}

void engine::run(aftermath& out) {
  wake(out);
  if (out.here == inline_work::never && calls_->is_working()) out.here = inline_work::together;  // see listen()
  out.questions.each([&](aftermath::question& one) { ask(one, out.now, out.here); });
  if (out.looks.empty()) [[likely]]
    return;
  {
    const std::lock_guard lock(mutex_);
    out.looks.each([&](claim_record* one) { look_backlog_.push_back(one); });
  }
  send_looks(out.here);
}

void engine::ask(const aftermath::question& what, instant sent, inline_work here) {
  if (what.what == machine::ask::enter) return ask_enter(what.told, *what.about, what.how, sent, here);
  ask_leave(what.told, *what.about, what.what == machine::ask::leave_final ? finality::final : finality::answered, sent,
            here);
}

void engine::ask_enter(const claim& asked, claim_record& about, entry how, instant sent, inline_work here) {
  store_->enter(asked, how, here, [mine = ticket(this, &about, sent)](result<standing> got) mutable {
    auto* self = std::exchange(mine.from, nullptr);
    if (auto* const asker = lone_asker(*mine.about); asker != nullptr && got) [[likely]]
      if (self->granted_alone(*asker, *mine.about, *got)) return;
    self->entered(*mine.about, mine.sent, got);
  });
}

void engine::entered(claim_record& one, instant sent, const result<standing>& got) noexcept {
  on_answer([&](aftermath& out) {
    if (got) one.memo = got->memo;
    const double jitter = random_.fraction();
    apply(one,
          got ? one.machine.answered(sent, out.now, *got, jitter) : one.machine.failed(out.now, got.error(), jitter),
          out);
    unpin(one);
  });
}

void engine::ask_leave(const claim& asked, claim_record& about, finality how, instant sent, inline_work here) {
  store_->leave(asked, how, here, [mine = ticket(this, &about, sent)](result<departure> got) mutable {
    auto* self = std::exchange(mine.from, nullptr);
    if (auto* const asker = lone_asker(*mine.about); asker != nullptr && got) [[likely]]
      if (self->departed_alone(*asker, *mine.about, *got)) return;
    self->departed(*mine.about, got);
  });
}

void engine::departed(claim_record& one, const result<departure>& got) noexcept {
  on_answer([&](aftermath& out) {
    apply(one, got ? one.machine.departed(out.now, *got) : one.machine.failed(out.now, got.error(), random_.fraction()),
          out);
    unpin(one);
  });
}

void engine::ask_convert(claim_record& one, const claim& asked, lock_mode mode, std::uint32_t weight, entry how,
                         instant sent) {
  store_->convert(asked, mode, weight, how, [mine = ticket(this, &one, sent)](result<standing> got) mutable {
    auto* self = std::exchange(mine.from, nullptr);
    self->on_answer([&](aftermath& out) {
      self->converted(*mine.about, mine.sent, std::move(got), out);
      self->unpin(*mine.about);
    });
  });
}

void engine::send_looks(inline_work here) {
  for (;;) {
    std::vector<claim_record*> next;
    instant sent;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(looks_under_way_, [&](instant each) { return now() - each > batch_overdue; });
      if (look_backlog_.empty() || looks_under_way_.size() >= batches_under_way) return;
      const auto count = std::min(batch, look_backlog_.size());
      next.assign(look_backlog_.begin(), look_backlog_.begin() + static_cast<std::ptrdiff_t>(count));
      look_backlog_.erase(look_backlog_.begin(), look_backlog_.begin() + static_cast<std::ptrdiff_t>(count));
      sent = now();  // before it leaves; the renewed leases count from here
      looks_under_way_.push_back(sent);
    }
    ask_looks(std::move(next), sent, here);
  }
}

void engine::batch_over(instant sent) noexcept {
  const auto found = std::find(looks_under_way_.begin(), looks_under_way_.end(), sent);
  if (found != looks_under_way_.end()) looks_under_way_.erase(found);
}

void engine::ask_looks(std::vector<claim_record*> whom, instant sent, inline_work here) {
  std::vector<claim> asked;
  asked.reserve(whom.size());
  {
    const std::lock_guard lock(mutex_);
    std::vector<claim_record*> still;
    still.reserve(whom.size());
    for (auto* one : whom) {
      const bool wanted =
          one->machine.at() == phase::held || one->machine.at() == phase::waiting || one->machine.at() == phase::asking;
      if (!wanted) {  // released or lost since: never renew that
        unpin(*one);
        continue;
      }
      still.push_back(one);
      asked.push_back(told(*one));
    }
    whom = std::move(still);
    if (whom.empty()) {
      batch_over(sent);
      return;
    }
  }
  store_->look(asked, here, [mine = look_ticket(this, std::move(whom), sent)](result<standings> got) mutable {
    auto* self = std::exchange(mine.from, nullptr);
    self->on_answer([&](aftermath& out) {
      self->batch_over(mine.sent);
      for (std::size_t i = 0; i < mine.about.size(); ++i) {
        auto& one = *mine.about[i];
        const double jitter = self->random_.fraction();
        const result<standing> each = !got ? result<standing>(got.error())
                                      : i < got->size()
                                          ? (*got)[i]
                                          : result<standing>(failure(errc::internal, "the store left out an answer"));
        if (each && each->is == standing::kind::held) self->adopt_mode(one, *each, out);
        self->apply(one,
                    each ? one.machine.answered(mine.sent, out.now, *each, jitter)
                         : one.machine.failed(out.now, each.error(), jitter),
                    out);
        if (each && one.upgrade != nullptr) self->upgrade_looked(one, *each, out);
        self->unpin(one);
      }
    });
    self->send_looks(inline_work::never);
  });
}

void engine::granted(const claim_secret& who, const standing& as) noexcept {
  on_push([&](aftermath& out) {
    auto* one = find(who);
    if (one == nullptr || closing_) return;  // left already: its leave is on the way, or was answered
    if (one->machine.at() == phase::held) {  // an upgrade came through
      adopt_mode(*one, as, out);
      if (one->upgrade != nullptr && one->mode == one->upgrade->mode) finish_convert(*one, {}, out);
      return;
    }
    apply(*one, one->machine.granted(out.now, as), out);
  });
}

void engine::look_again(const claim_secret& who) noexcept {
  on_push([&](aftermath& out) {
    if (auto* one = find(who)) apply(*one, one->machine.look_again(out.now), out);
  });
}

void engine::evicted(const claim_secret& who) noexcept {
  on_push([&](aftermath& out) {
    if (auto* one = find(who)) apply(*one, one->machine.evicted(out.now), out);
  });
}

void engine::link(bool up) noexcept {
  if (up) cells_->link_up();
  on_push([&](aftermath& out) {
    const slot nowhere;
    emit(up ? event_kind::connected : event_kind::disconnected, nowhere, {}, {}, loss_reason::none, nullptr);
    if (!up) return;
    for (auto& one : records_)
      if (one->at != nullptr) apply(*one, one->machine.look_again(out.now), out);
  });
}

void engine::another_server() noexcept {
  on_push([&](aftermath& out) {
    for (auto& one : records_)
      if (one->at != nullptr) apply(*one, one->machine.doubt(out.now), out);
  });
}

template <class T, class F>
result<T> engine::ask_and_wait(F start) {
  struct state {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<result<T>> got;
  };
  auto shared = std::make_shared<state>();
  start([shared](result<T> got) {
    const std::lock_guard lock(shared->mutex);
    shared->got.emplace(std::move(got));
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  if (!shared->changed.wait_for(lock, patience_, [&] { return shared->got.has_value(); }))
    return failure(errc::unavailable,
                   traits().store + ": no answer within " + std::to_string(patience_.count()) + " ms");
  return std::move(*shared->got);
}

bool engine::is_open() {
  const std::lock_guard lock(mutex_);
  return !forked() && !closing_;
}

result<std::vector<store_check>> engine::examine() {
  if (!is_open()) return closed_failure();
  return ask_and_wait<std::vector<store_check>>(
      [&](completion<std::vector<store_check>> done) { store_->examine(std::move(done)); });
}

result<survey_page> engine::survey(survey_query what) {
  if (!is_open()) return closed_failure();
  if (!traits().survey && !what.exact)
    return failure(errc::unsupported, "the " + traits().store + " store cannot list its locks");
  return ask_and_wait<survey_page>(
      [&](completion<survey_page> done) { store_->survey(std::move(what), std::move(done)); });
}

result<bool> engine::evict(std::string_view name, const claim_id& who, bool force) {
  if (!is_open()) return closed_failure();
  if (auto ok = core::check_name(name, traits().name_max); !ok) return ok.error();
  auto kept = std::make_shared<std::string>(full_name(name));
  return ask_and_wait<bool>([&](completion<bool> done) {
    store_->evict(*kept, who, force,
                  [kept, done = std::move(done)](result<bool> got) mutable { done(std::move(got)); });
  });
}

}  // namespace interlock::inline v1::runtime
