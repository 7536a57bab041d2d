// SPDX-License-Identifier: MIT
#include "core/cell_record.hpp"

#include "core/names.hpp"

#include <algorithm>

namespace interlock::inline v1::core {

result<version> cell_record::change(const cell_write& how, std::uint64_t floor) {
  const auto done = std::find_if(log.begin(), log.end(), [&](const entry& one) { return one.mark == how.mark; });
  if (done != log.end()) return version{done->made};
  if ((there ? last : 0) != how.expected.number) {
    // Every version up to the oldest remembered change has been forgotten: this one may have been among them.
    if (how.again && log.size() >= cell_marks && log.front().made > how.expected.number)
      return failure(errc::indeterminate, "too much has happened since to tell whether it was done");
    return failure(errc::conflict, "somebody has changed " + shown_name(how.name) + " in the meantime");
  }
  if (!there && !how.value)
    return failure(errc::invalid_argument, "there is nothing to remove: " + shown_name(how.name));
  last = std::max(last, floor) + 1;
  there = how.value.has_value();
  value = how.value.value_or(std::string_view{});
  if (log.size() >= cell_marks) log.erase(log.begin());
  log.push_back({how.mark, last});
  return version{last};
}

}  // namespace interlock::inline v1::core
