// SPDX-License-Identifier: MIT
#include <interlock/detail/operation.hpp>

#include <utility>

namespace interlock::inline v1::detail {

operation_base::~operation_base() = default;

std::optional<failure> operation_base::wait() const {
  if (ready()) return {};
  if (place_.is_current())
    return failure(errc::deadlock,
                   "a blocking call on one of interlock's own threads would wait for itself; use then() or co_await");
  for (auto seen = state_.fetch_or(is_awaited) | is_awaited; (seen & is_ready) == 0;
       seen = state_.load(std::memory_order_acquire))
    state_.wait(seen, std::memory_order_acquire);
  return {};
}

void operation_base::abandon() noexcept {
  const auto before = state_.fetch_or(next_taken);
  if ((before & next_taken) == 0) next_ = {};
  if ((before & is_ready) == 0) cancel();
}

void operation_base::publish(std::shared_ptr<operation_base> self) noexcept {
  const auto before = state_.fetch_or(is_ready);
  if ((before & is_awaited) != 0) state_.notify_all();
  if ((before & has_next) != 0) place_.post(std::move(self));
}

void operation_base::run() noexcept {
  // The caller may have gone since publish(): a coroutine frame destroyed meanwhile must not be resumed.
  const bool here_to_stay = (state_.load(std::memory_order_relaxed) & stays) != 0;
  if (!here_to_stay && (state_.fetch_or(next_taken) & next_taken) != 0) return;
  next_();
  next_ = {};
}

}  // namespace interlock::inline v1::detail
