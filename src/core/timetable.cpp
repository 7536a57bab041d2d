// SPDX-License-Identifier: MIT
#include "core/timetable.hpp"

namespace interlock::inline v1::core {

void timetable::set(timed& what, instant due) {
  if (due == what.due && (what.place != timed::none || due == instant::max())) return;
  what.due = due;
  if (what.place == timed::none) {
    heap_.push_back(&what);
    what.place = heap_.size() - 1;
    up(what.place);
    return;
  }
  if (due == instant::max()) {
    const auto at = what.place;
    what.place = timed::none;
    auto* last = heap_.back();
    heap_.pop_back();
    if (last == &what) return;
    place(at, last);
    up(at);
    down(last->place);
    return;
  }
  up(what.place);
  down(what.place);
}

void timetable::up(std::size_t at) noexcept {
  auto* what = heap_[at];
  while (at > 0 && what->due < heap_[(at - 1) / 2]->due) {
    place(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  place(at, what);
}

void timetable::down(std::size_t at) noexcept {
  auto* what = heap_[at];
  for (;;) {
    auto child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->due < heap_[child]->due) ++child;
    if (what->due <= heap_[child]->due) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, what);
}

}  // namespace interlock::inline v1::core
