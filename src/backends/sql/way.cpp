// SPDX-License-Identifier: MIT
#include "backends/sql/way.hpp"

#include <utility>

namespace interlock::inline v1::sql {

way::way(const backend_environment& environment, place at, std::shared_ptr<dialler> by, listener tells)
    : lasting(environment, at.shown,
              [by = std::move(by)](const std::atomic<bool>& cancelled) { return by->dial(cancelled); }),
      place_(std::move(at)),
      tells_(std::move(tells)) {}

way::pointer way::connected(dialler::made made, reactor& loop, const time_source& time) {
  return std::make_shared<connection>(std::move(made.with), place_, loop, time, *this);
}

void way::send(std::shared_ptr<errand> what, inline_work here) {
  if (const auto to = current()) return to->submit(std::move(what), here);
  whole(std::move(what)).fail(not_connected());
}

void way::give_up(const failure& why) noexcept {
  if (const auto to = current()) to->fail(why);
}

}  // namespace interlock::inline v1::sql
