// SPDX-License-Identifier: MIT
#include "core/timetable.hpp"

namespace interlock::inline v1::core {

void timetable::move_up(timed& what) {
  if (what.place == timed::none) {
    heap_.push_back(&what);
    what.place = heap_.size() - 1;
  }
  what.filed = what.due;
  up(what.place);
}

void timetable::take_out(timed& what) noexcept {
  what.due = instant::max();
  if (what.place == timed::none) return;
  const auto at = what.place;
  what.place = timed::none;
  auto* last = heap_.back();
  heap_.pop_back();
  if (last == &what) return;
  put(at, last);
  up(at);
  down(last->place);
}

timed* timetable::take_due(instant now) noexcept {
  while (not_before() <= now) {
    if (!settle_first()) continue;
    auto* first = heap_.front();
    take_out(*first);
    return first;
  }
  return nullptr;
}

instant timetable::next() noexcept {
  while (!heap_.empty() && !settle_first()) {
  }
  return not_before();
}

// Is the first one where it belongs? If not it is brought there.
bool timetable::settle_first() noexcept {
  auto& first = *heap_.front();
  if (first.due == first.filed) return true;
  if (first.due == instant::max()) {
    take_out(first);
  } else {
    first.filed = first.due;
    down(0);
  }
  return false;
}

void timetable::up(std::size_t at) noexcept {
  auto* what = heap_[at];
  while (at > 0 && what->filed < heap_[(at - 1) / 2]->filed) {
    put(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put(at, what);
}

void timetable::down(std::size_t at) noexcept {
  auto* what = heap_[at];
  for (;;) {
    auto child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->filed < heap_[child]->filed) ++child;
    if (what->filed <= heap_[child]->filed) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, what);
}

}  // namespace interlock::inline v1::core
