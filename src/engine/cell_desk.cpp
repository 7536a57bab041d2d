// SPDX-License-Identifier: MIT
#include "engine/cell_desk.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::runtime {

using job_phase = cell_job::phase;

namespace {

constexpr milliseconds overdue{1'000};      // then a question is asked again
constexpr milliseconds retry_pause{100};    // after a question that could not be asked
constexpr milliseconds poll_pushed{5'000};  // where changes are told, in case a hint was lost
constexpr milliseconds poll_deaf{100};      // where they are not
constexpr unsigned most_doublings = 5;      // of a pause of 1 ms between two conflicts

failure too_late() { return failure(errc::busy, "it did not happen within the wait"); }

bool passes(const failure& why) noexcept { return why == errc::unavailable || why == errc::indeterminate; }

}  // namespace

// What is to be done outside is done after the change, in order; answers may come while it is.
template <class F>
void cell_desk::turn(F change) noexcept {
  errands out;
  {
    const std::lock_guard lock(mutex_);
    change(out);
    schedule(out);
  }
  for (auto& one : out) one();
}

milliseconds cell_desk::spread(milliseconds most) noexcept {
  const auto part = static_cast<double>(most.count()) * (0.5 + random_.fraction() / 2);
  return milliseconds{std::max<std::int64_t>(1, static_cast<std::int64_t>(part))};
}

cell_desk::job_pointer cell_desk::begin(cell_wish what, unique_function<void(result<std::uint32_t>)> done) {
  auto one = std::make_shared<cell_job>();
  one->wish = std::move(what);
  one->done = std::move(done);
  turn([&](errands& out) {
    one->begun = time_.now();
    if (closed_) {
      one->at = job_phase::over;
      out.emplace_back([one] { std::exchange(one->done, {})(failure(errc::closed, "this client was closed")); });
      return;
    }
    one->mark = random_.secret();
    ++jobs_;
    auto& here = places_[one->wish.name];
    if (!here) {
      here = std::make_shared<place>();
      here->name = one->wish.name;
    }
    one->needs = here->reads + 1;  // one that is under way may have left before the caller's last change
    here->jobs.push_back(one);
    look(here, out);
  });
  return one;
}

void cell_desk::cancel(const job_pointer& one, const failure& why) noexcept {
  turn([&](errands& out) {
    if (one->at == job_phase::over) return;
    if (one->unresolved())
      return finish(one, failure(errc::indeterminate, why.message() + "; it may have been written"), out);
    finish(one, why, out);
  });
}

void cell_desk::link_up() noexcept {
  if (idle()) return;
  loop_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->turn([&](errands& out) {
      for (const auto& [name, here] : self->places_) self->look(here, out);
    });
  });
}

void cell_desk::close() noexcept {
  turn([&](errands& out) {
    closed_ = true;
    while (!places_.empty()) {
      const auto one = places_.begin()->second->jobs.back();
      finish(one, failure(one->unresolved() ? errc::indeterminate : errc::cancelled, "the client was closed"), out);
    }
  });
}

void cell_desk::finish(const job_pointer& one, result<std::uint32_t> outcome, errands& out) {
  one->at = job_phase::over;
  --jobs_;
  const auto found = places_.find(one->wish.name);
  if (found != places_.end()) {
    const auto here = found->second;
    std::erase(here->jobs, one);
    if (here->jobs.empty()) {
      places_.erase(found);
      out.emplace_back([here] { const auto over = std::move(here->watch); });  // waits for a hint that is being told
    }
  }
  out.emplace_back([one, outcome = std::move(outcome)]() mutable { std::exchange(one->done, {})(std::move(outcome)); });
}

// ---- reading

void cell_desk::look(const place_pointer& here, errands& out) {
  if (here->looking) {
    here->again = true;
    return;
  }
  const auto now = time_.now();
  here->looking = true;
  here->again = false;
  here->silent_since = std::min(here->silent_since, now);
  here->next = now + std::min(overdue, patience_);
  out.emplace_back([self = shared_from_this(), here, number = ++here->reads] {
    self->store_->read(here->name, [self, here, number](const result<cell>& got) {
      self->turn([&](errands& then) { self->looked(here, number, got, then); });
    });
  });
}

void cell_desk::looked(const place_pointer& here, std::uint64_t number, const result<cell>& got, errands& out) {
  if (here->jobs.empty() || number != here->reads || !here->looking) return;  // given up, or asked again since
  here->looking = false;
  const auto jobs = here->jobs;
  const auto asks = [&](const cell_job& one) { return one.at == job_phase::reading || one.at == job_phase::waiting; };
  if (!got) {
    here->trouble = got.error();
    here->next = time_.now() + spread(retry_pause);
    for (const auto& one : jobs)
      if (asks(*one) && !passes(got.error())) finish(one, got.error(), out);
    return;
  }
  here->silent_since = instant::max();
  here->trouble.reset();
  for (const auto& one : jobs)
    if (asks(*one) && one->needs <= number) judge(one, *got, out);
  here->next = time_.now() + spread(store_->limits().push ? poll_pushed : poll_deaf);
  bool unread = false, waits = false;
  for (const auto& one : here->jobs) {
    unread = unread || one->at == job_phase::reading;
    waits = waits || one->at == job_phase::waiting;
  }
  if (waits && !here->watched) {
    here->watched = true;
    listen(here, out);
    unread = true;  // what changed before we listened is not told
  }
  if (here->again || unread) look(here, out);
}

// A hint is told in the middle of somebody's request: the store is asked from the loop.
void cell_desk::listen(const place_pointer& here, errands& out) {
  out.emplace_back([self = shared_from_this(), here] {
    const auto hint = [weak = self->weak_from_this(), at = std::weak_ptr(here), loop = &self->loop_] {
      loop->post([weak, at] {
        const auto desk = weak.lock();
        const auto seen = at.lock();
        if (!desk || !seen) return;
        desk->turn([&](errands& then) {
          if (!seen->jobs.empty()) desk->look(seen, then);
        });
      });
    };
    auto watch = self->store_->watch(here->name, hint);
    self->turn([&](errands& then) {
      if (!here->jobs.empty())
        here->watch = std::move(watch);
      else
        then.emplace_back([over = std::make_shared<subscription>(std::move(watch))] {});
    });
  });
}

void cell_desk::judge(const job_pointer& one, const cell& found, errands& out) {
  auto what = one->wish.rule(found);
  switch (what.is) {
    case core::cell_verdict::kind::finish: return finish(one, std::move(what.answer), out);
    case core::cell_verdict::kind::wait:
      one->at = job_phase::waiting;
      one->told = true;
      if (one->wish.until <= time_.now()) finish(one, too_late(), out);
      return;
    case core::cell_verdict::kind::write: break;
  }
  one->expected = found.version;
  one->value = std::move(what.value);
  one->answer = *what.answer;
  write(one, out);
}

// ---- writing

void cell_desk::write(const job_pointer& one, errands& out) {
  const auto now = time_.now();
  one->at = job_phase::writing;
  one->under_way = true;
  one->silent_since = std::min(one->silent_since, now);
  one->due = now + std::min(overdue, patience_);
  struct question {
    std::string name, value;
    cell_write what;
  };
  auto asked = std::make_shared<question>();
  asked->name = one->wish.name;
  asked->value = one->value;
  asked->what = {.name = asked->name,
                 .expected = one->expected,
                 .value = asked->value,
                 .mark = one->mark,
                 .again = one->in_doubt,
                 .keep = one->wish.keep};
  out.emplace_back([self = shared_from_this(), one, asked, number = ++one->writes, answer = one->answer] {
    self->store_->write_if(asked->what, [self, one, asked, number, answer](const result<version>& got) {
      self->turn([&](errands& then) { self->written(one, number, answer, got, then); });
    });
  });
}

void cell_desk::written(const job_pointer& one, std::uint64_t number, std::uint32_t answer, const result<version>& got,
                        errands& out) {
  if (one->at == job_phase::over) return;
  if (got) return finish(one, answer, out);  // whichever of them it is: the mark is the same
  if (one->at != job_phase::writing || number != one->writes) return;
  one->under_way = false;
  const auto now = time_.now();
  if (got.error() == errc::conflict) {
    // Nothing of ours was written, and what may still be under way expects what will never be again.
    one->in_doubt = false;
    one->silent_since = instant::max();
    one->trouble.reset();
    one->at = job_phase::pausing;
    one->due = now + spread(milliseconds{1 << std::min(one->conflicts++, most_doublings)});
    return;
  }
  if (!passes(got.error())) return finish(one, got.error(), out);
  one->in_doubt = one->in_doubt || got.error() == errc::indeterminate;
  one->trouble = got.error();
  one->due = now + spread(retry_pause);
}

// ---- time

bool cell_desk::check(place& here, const job_pointer& one, instant now, errands& out) {
  const bool writes = one->at == job_phase::writing;
  if (one->told && !writes && one->wish.until <= now) {
    finish(one, too_late(), out);
    return false;
  }
  // A place between two looks is not silent.
  const auto since = writes ? one->silent_since : here.silent_since;
  if (since != instant::max() && now - std::max(since, one->begun) > patience_) {
    const auto& trouble = writes ? one->trouble : here.trouble;
    const auto text = trouble ? trouble->message() : "no answer within " + std::to_string(patience_.count()) + " ms";
    finish(one, failure(one->unresolved() ? errc::indeterminate : errc::unavailable, text), out);
    return false;
  }
  return true;
}

void cell_desk::tick() {
  turn([&](errands& out) {
    armed_ = instant::max();
    const auto now = time_.now();
    const auto places = places_;  // finishing removes them
    for (const auto& [name, here] : places) {
      const auto jobs = here->jobs;
      for (const auto& one : jobs) {
        if (!check(*here, one, now, out) || one->due > now) continue;
        if (one->at == job_phase::writing) {
          one->in_doubt = one->in_doubt || one->under_way;  // overdue
          write(one, out);
        } else if (one->at == job_phase::pausing) {
          one->at = job_phase::reading;
          one->due = instant::max();
          one->needs = here->reads + 1;
          look(here, out);
        }
      }
      if (here->jobs.empty() || here->next > now) continue;
      here->looking = false;  // overdue, if it was
      look(here, out);
    }
  });
}

void cell_desk::schedule(errands& out) {
  auto next = instant::max();
  const auto now = time_.now();
  for (const auto& [name, here] : places_) {
    next = std::min(next, here->next);
    for (const auto& one : here->jobs) {
      if (one->due != instant::max()) next = std::min(next, one->due);
      if (one->wish.until > now) next = std::min(next, one->wish.until);
    }
  }
  if (next >= armed_) return;
  armed_ = next;
  out.emplace_back([self = shared_from_this(), next] {
    self->loop_.call_at(next, [weak = self->weak_from_this()] {
      if (const auto desk = weak.lock()) desk->tick();
    });
  });
}

}  // namespace interlock::inline v1::runtime
