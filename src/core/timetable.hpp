// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>

#include <cstddef>
#include <vector>

namespace interlock::inline v1::core {

/// Something that wants to be called at an instant. Knows its place in the timetable, so moving it costs no search.
struct timed {
  instant due = instant::max();    ///< instant::max(): not at all
  instant filed = instant::max();  ///< what it is sorted by: no later than due
  std::size_t place = none;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

/// A binary heap by time. Allocates only when it grows.
///
/// Most of what is put off is put off again, or called off, long before its time: a lease that is renewed, a question
/// that is answered. So who is due later than before stays where it is, and is moved when its old time comes.
class timetable {
 public:
  /// instant::max() calls it off. It may stay in the table, and has to live on until it is taken out.
  void set(timed& what, instant due) {
    what.due = due;
    if (what.place == timed::none ? due != instant::max() : due < what.filed) [[unlikely]]
      move_up(what);
  }
  void take_out(timed& what) noexcept;
  /// Something that is due by now, and is called off by this; nullptr: nothing.
  [[nodiscard]] timed* take_due(instant now) noexcept;
  /// When something is due next.
  [[nodiscard]] instant next() noexcept;
  /// Nothing is due before this; the cheaper question.
  [[nodiscard]] instant not_before() const noexcept { return heap_.empty() ? instant::max() : heap_.front()->filed; }

 private:
  void move_up(timed& what);
  [[nodiscard]] bool settle_first() noexcept;
  void put(std::size_t at, timed* what) noexcept {
    heap_[at] = what;
    what->place = at;
  }
  void up(std::size_t at) noexcept;
  void down(std::size_t at) noexcept;
  std::vector<timed*> heap_;
};

}  // namespace interlock::inline v1::core
