// SPDX-License-Identifier: MIT
#include <interlock/semaphore.hpp>

#include "api/operations.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1 {

semaphore::semaphore(client locks, std::string_view name, std::uint32_t limit)
    : locks_(std::move(locks)), name_(name), limit_(limit) {
  if (limit < 1 || limit >= lock_capacity)
    throw lock_error(failure(errc::invalid_argument,
                             "a semaphore's limit of " + std::to_string(limit) + " is not between 1 and 2147483647"));
}

result<guard> semaphore::attempt(acquire_options options, std::stop_token stop) const {
  const auto& handle = detail::client_handle::of(locks_);
  auto got = handle->engine().acquire(handle, {name_, options, entry::queue, limit_}, stop);
  if (!got) return got.error();
  return api::guard_of(std::move(*got));
}

guard semaphore::acquire(acquire_options options, std::stop_token stop) const {
  auto got = attempt(options, std::move(stop));
  if (!got) throw lock_error(got.error());
  return std::move(*got);
}

std::optional<guard> semaphore::try_acquire(acquire_options options, std::stop_token stop) const {
  if (!options.wait) options.wait = milliseconds{0};
  auto got = attempt(options, std::move(stop));
  if (got) return std::move(*got);
  if (got.error() == errc::busy) return {};
  throw lock_error(got.error());
}

pending<guard> semaphore::async_acquire(acquire_options options, std::stop_token stop) const {
  const auto& handle = detail::client_handle::of(locks_);
  auto op = api::make_operation<guard>(handle);
  if (auto begun = handle->engine().begin_async({name_, options, entry::queue, limit_}, op); !begun)
    op->refuse(begun.error());
  else
    op->listen(stop, handle);
  return pending<guard>(std::move(op));
}

std::uint32_t semaphore::available() const {
  std::uint32_t used = 0;
  for (const auto& one : locks_.inspect(name_).holders) used += one.permits;
  return limit_ - std::min(used, limit_);
}

}  // namespace interlock::inline v1
