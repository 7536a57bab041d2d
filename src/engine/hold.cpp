// SPDX-License-Identifier: MIT
#include "engine/hold.hpp"

#include "engine/engine.hpp"
#include "engine/thread.hpp"

#include <algorithm>

namespace interlock::inline v1::detail {

hold::~hold() {
  if (!forked()) engine().forget(*this);
}

runtime::engine& hold::engine() const noexcept { return client->engine(); }

bool hold::valid() const noexcept {
  const auto now_is = is.load(std::memory_order_acquire);
  if ((now_is != lock_state::held && now_is != lock_state::jeopardy) || forked()) return false;
  const auto now = engine().now().time_since_epoch().count();
  auto end = until.load(std::memory_order_acquire);
  // Whoever sees the end seals it, unless a renewal comes first: one answer for everybody from then on.
  while (now >= end && end != sealed && !until.compare_exchange_weak(end, sealed)) {
  }
  return now < end;
}

bool hold::prolong(instant to) noexcept {
  auto end = until.load(std::memory_order_acquire);
  const auto wish = to.time_since_epoch().count();
  while (end != sealed && !until.compare_exchange_weak(end, std::max(end, wish))) {
  }
  return end != sealed;
}

milliseconds hold::remaining() const noexcept {
  const auto now_is = is.load(std::memory_order_acquire);
  if ((now_is != lock_state::held && now_is != lock_state::jeopardy) || forked()) return milliseconds{0};
  const auto end = until.load(std::memory_order_acquire);
  if (end == sealed) return milliseconds{0};
  const auto left = end - engine().now().time_since_epoch().count();
  return std::max(std::chrono::floor<milliseconds>(std::chrono::nanoseconds{left}), milliseconds{0});
}

lock_state hold::state() const noexcept {
  const auto now_is = is.load(std::memory_order_acquire);
  const bool believed = now_is == lock_state::held || now_is == lock_state::jeopardy;
  return believed && !valid() ? lock_state::lost : now_is;
}

loss_reason hold::why_lost() const noexcept {
  if (forked()) return loss_reason::forked;
  const auto why = reason.load(std::memory_order_acquire);
  return why == loss_reason::none && state() == lock_state::lost ? loss_reason::lapsed : why;
}

client_handle::~client_handle() {
  if (engine_->forked())
    new std::shared_ptr<runtime::engine>(std::move(engine_));  // the parent's threads and files: touch nothing
  else if (runtime::on_library_thread())
    // A finished operation was the last to know the client: the thread it finished on cannot wait for its own end.
    runtime::start_thread("interlock-close", [engine = std::move(engine_)] { engine->close(); }).detach();
  else
    engine_->close();
}

client client_handle::make_client(std::shared_ptr<client_handle> handle) noexcept { return client(std::move(handle)); }

const std::shared_ptr<client_handle>& client_handle::of(const client& which) noexcept { return which.handle_; }

}  // namespace interlock::inline v1::detail
