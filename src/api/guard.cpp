// SPDX-License-Identifier: MIT
#include <interlock/guard.hpp>

#include "api/operations.hpp"

#include <interlock/fence.hpp>

namespace interlock::inline v1 {

guard& guard::operator=(guard&& other) noexcept {
  if (this != &other) {
    const guard let_go(std::move(*this));
    hold_ = std::move(other.hold_);
    released_ = std::exchange(other.released_, false);
  }
  return *this;
}

guard::~guard() {
  if (!hold_) return;
  if (!hold_->forked()) [[likely]] {
    if (!released_) hold_->engine().let_go(*hold_);
    return;
  }
  new std::shared_ptr<detail::hold>(std::move(hold_));  // the parent's: touch nothing
}

bool guard::valid() const noexcept { return hold_ && !released_ && hold_->valid(); }

milliseconds guard::remaining() const noexcept { return hold_ && !released_ ? hold_->remaining() : milliseconds{0}; }

lock_state guard::state() const noexcept {
  if (!hold_) return lock_state::empty;
  const auto is = hold_->state();
  return released_ && is != lock_state::lost ? lock_state::released : is;
}

void guard::throw_if_lost() const {
  if (state() == lock_state::lost)
    throw lock_error(
        failure(errc::lost, "the lock \"" + name() + "\" was lost: " + std::string(to_string(why_lost()))));
}

std::stop_token guard::lost() const noexcept {
  return hold_ ? hold_->engine().stop_token_of(*hold_) : std::stop_token{};
}

loss_reason guard::why_lost() const noexcept { return hold_ ? hold_->why_lost() : loss_reason::none; }

subscription guard::on_change(std::function<void(lock_state)> call) const {
  return hold_ ? hold_->engine().watch(*hold_, std::move(call)) : subscription{};
}

fencing_token guard::token() const {
  if (!hold_) throw lock_error(failure(errc::invalid_argument, "an empty guard has no token"));
  const auto number = hold_->token.load(std::memory_order_acquire);
  if (number == 0)
    throw lock_error(failure(errc::unsupported, "the store of \"" + name() + "\" was told to make no tokens"));
  return fencing_token(number);
}

std::string guard::sequencer() const {
  const auto number = token();
  hold_->engine().publish(*hold_);
  return make_sequencer(name(), mode() == lock_mode::shared, number);
}

const std::string& guard::name() const noexcept {
  static const std::string none;
  return hold_ ? hold_->name() : none;
}

claim_id guard::id() const noexcept { return hold_ ? public_id(hold_->secret) : claim_id{}; }

lock_mode guard::mode() const noexcept {
  return hold_ ? hold_->mode.load(std::memory_order_acquire) : lock_mode::exclusive;
}

result<void> guard::upgrade(std::optional<milliseconds> wait, std::stop_token stop) {
  if (!hold_) return failure(errc::invalid_argument, "an empty guard cannot be upgraded");
  return hold_->engine().upgrade(*hold_, wait, stop);
}

result<void> guard::downgrade() {
  if (!hold_) return failure(errc::invalid_argument, "an empty guard cannot be downgraded");
  return hold_->engine().downgrade(*hold_);
}

result<void> guard::release() noexcept {
  if (!hold_) return {};
  if (released_) return {};
  released_ = true;
  return hold_->engine().release(*hold_);
}

pending<void> guard::async_release() {
  if (!hold_) throw lock_error(failure(errc::invalid_argument, "an empty guard holds nothing to release"));
  auto op = api::make_operation<void>(hold_->client);
  if (released_) {
    op->outcome.emplace(runtime::hold_ptr{});
    op->announce({});
  } else {
    released_ = true;
    hold_->engine().begin_release(*hold_, op);
  }
  return pending<void>(std::move(op));
}

}  // namespace interlock::inline v1
