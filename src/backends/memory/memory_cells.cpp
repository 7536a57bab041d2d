// SPDX-License-Identifier: MIT
#include "backends/memory/memory_cells.hpp"

#include <algorithm>
#include <optional>

namespace interlock::inline v1::memory_store {

namespace {
constexpr std::size_t ended_check = 1024;  // changes between two clean-ups
}

void memory_cells::read(std::string_view name, completion<cell> done) {
  cell found;
  {
    const std::lock_guard lock(mutex_);
    const auto at = cells_.find(name);
    if (at != cells_.end() && at->second.ends >= time_.now()) found = at->second.record.shown();
  }
  done(std::move(found));
}

void memory_cells::forget_ended(instant now) {
  touched_ = 0;
  std::erase_if(cells_, [&](const auto& one) { return one.second.ends < now; });
}

void memory_cells::write_if(const cell_write& what, completion<version> done) {
  std::optional<result<version>> made;
  {
    const std::lock_guard lock(mutex_);
    const auto now = time_.now();
    if (++touched_ >= ended_check) forget_ended(now);
    auto& at = cells_.try_emplace(std::string(what.name)).first->second;
    if (at.ends < now) at = {};
    const auto before = at.record.last;
    made = at.record.change(what, last_);
    if (at.record.last != before) {
      last_ = at.record.last;
      const auto keep = what.value ? what.keep : cell_tomb_time;
      at.ends = keep > milliseconds{0} ? now + keep : instant::max();
    } else if (before == 0) {
      cells_.erase(std::string(what.name));  // refused, and there was nothing
    }
  }
  if (*made) watchers_.tell(what.name);
  done(std::move(*made));
}

subscription memory_cells::watch(std::string_view name, std::function<void()> changed) {
  return watchers_.add(name, std::move(changed));
}

}  // namespace interlock::inline v1::memory_store
