// SPDX-License-Identifier: MIT
#include "backends/memcached/way.hpp"

#include <utility>

namespace interlock::inline v1::memcached_store {

way::way(const backend_environment& environment, memcached_settings settings)
    : lasting(environment, "memcached " + settings.shown(),
              [settings](const std::atomic<bool>& cancelled) { return dial(settings, cancelled); }),
      settings_(std::move(settings)) {}

std::string way::run_of(const established& made) const {
  const auto found = made.stats.find("pid");
  return found == made.stats.end() ? std::string{} : found->second;
}

way::pointer way::connected(established made, reactor& loop, const time_source& time) {
  {
    const std::lock_guard lock(mutex_);
    stats_ = made.stats;
  }
  return std::make_shared<connection>(std::move(made), settings_, loop, time, *this);
}

way::facts way::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void way::send(std::string_view commands, std::size_t count, inline_work here, replies_handler done) {
  if (const auto to = current()) return to->send(commands, count, here, std::move(done));
  done(not_connected());
}

}  // namespace interlock::inline v1::memcached_store
