// SPDX-License-Identifier: MIT
#include "engine/engine.hpp"

#include <utility>

namespace interlock::inline v1::runtime {

const cell_limits* engine::cells() const noexcept {
  const auto* store = cells_->store();
  return store == nullptr ? nullptr : &store->limits();
}

result<cell_desk::job_pointer> engine::begin_cell(std::string_view name, cell_wish what,
                                                  std::optional<milliseconds> wait,
                                                  unique_function<void(result<std::uint32_t>)> done) {
  if (!is_open()) return closed_failure();
  if (auto named = check_name(name); !named) return named.error();
  what.name = full_name(name);
  if (cells() == nullptr)
    return failure(errc::unsupported, "the " + traits().store + " store" +
                                          (traits().layout.empty() ? "" : " with layout " + traits().layout) +
                                          " has no cells, and so no latches");
  if (wait && *wait < milliseconds{0}) return failure(errc::invalid_argument, "a wait of less than no time");
  if (wait && *wait < std::chrono::duration_cast<milliseconds>(instant::max() - now())) what.until = now() + *wait;
  return cells_->begin(std::move(what), std::move(done));
}

void engine::cancel_cell(const cell_desk::job_pointer& one) noexcept {
  if (!forked()) cells_->cancel(one, failure(errc::cancelled, "cancelled by the caller"));
}

}  // namespace interlock::inline v1::runtime
