// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>

#include <cstddef>
#include <vector>

namespace interlock::inline v1::core {

/// Something that wants to be called at an instant. Knows its place in the timetable, so moving it costs no search.
struct timed {
  instant due = instant::max();
  std::size_t place = none;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

/// A binary heap by due time. Allocates only when it grows.
class timetable {
 public:
  /// instant::max() takes it out.
  void set(timed& what, instant due);
  [[nodiscard]] timed* first() const noexcept { return heap_.empty() ? nullptr : heap_.front(); }
  [[nodiscard]] instant next() const noexcept { return heap_.empty() ? instant::max() : heap_.front()->due; }
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

 private:
  void place(std::size_t at, timed* what) noexcept {
    heap_[at] = what;
    what->place = at;
  }
  void up(std::size_t at) noexcept;
  void down(std::size_t at) noexcept;
  std::vector<timed*> heap_;
};

}  // namespace interlock::inline v1::core
