// SPDX-License-Identifier: MIT
#include <interlock/mutex.hpp>
#include <interlock/recursive_mutex.hpp>
#include <interlock/shared_mutex.hpp>

#include <algorithm>
#include <utility>

namespace interlock::inline v1 {

// ---- mutex

mutex::mutex(client locks, std::string_view name, acquire_options options)
    : locks_(std::move(locks)), name_(name), options_(options) {}

mutex::~mutex() = default;

void mutex::lock() { held_ = locks_.acquire(name_, options_); }

bool mutex::try_lock() { return lock_within(milliseconds{0}); }

bool mutex::lock_within(milliseconds wait) {
  auto options = options_;
  options.wait = wait;
  auto got = locks_.try_acquire(name_, options);
  if (!got) return false;
  held_ = std::move(*got);
  return true;
}

void mutex::unlock() noexcept {
  const guard let_go(std::move(held_));  // first ours, then free: the next holder writes held_ as soon as it is
}

// ---- recursive_mutex

recursive_mutex::recursive_mutex(client locks, std::string_view name, acquire_options options)
    : locks_(std::move(locks)), name_(name), options_(options) {}

recursive_mutex::~recursive_mutex() = default;

void recursive_mutex::lock() { (void)lock_within(options_.wait); }

bool recursive_mutex::try_lock() {
  auto options = options_;
  options.owner = caller();
  options.wait = milliseconds{0};
  auto got = locks_.try_acquire(name_, options);
  if (got) push(std::move(*got), *options.owner);
  return got.has_value();
}

bool recursive_mutex::lock_within(std::optional<milliseconds> wait) {
  auto options = options_;
  options.owner = caller();
  options.wait = wait;
  auto got = locks_.attempt(name_, options);
  if (got) {
    push(std::move(*got), *options.owner);
    return true;
  }
  if (got.error() == errc::busy && wait != options_.wait) return false;
  throw lock_error(got.error());
}

void recursive_mutex::push(guard held, const owner_id& owner) {
  const std::lock_guard lock(mutex_);
  // Holds that were lost are no depth of the new one.
  if (!stack_.empty() && stack_.back().id() != held.id()) stack_.clear();
  stack_.push_back(std::move(held));
  owner_ = owner;
}

void recursive_mutex::unlock() noexcept {
  guard let_go;
  const std::lock_guard lock(mutex_);
  if (stack_.empty() || owner_ != caller()) return;
  let_go = std::move(stack_.back());
  stack_.pop_back();
}

const guard& recursive_mutex::hold() const noexcept {
  static const guard none;
  const std::lock_guard lock(mutex_);
  return stack_.empty() ? none : stack_.back();
}

std::size_t recursive_mutex::depth() const noexcept {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(stack_.begin(), stack_.end(), [](const guard& one) { return one.valid(); }));
}

// ---- shared_mutex

shared_mutex::shared_mutex(client locks, std::string_view name, acquire_options options)
    : locks_(std::move(locks)), name_(name), options_(options) {}

shared_mutex::~shared_mutex() = default;

acquire_options shared_mutex::as(lock_mode mode, std::optional<milliseconds> wait) const {
  auto options = options_;
  options.mode = mode;
  options.wait = wait;
  return options;
}

void shared_mutex::lock() { writer_ = locks_.acquire(name_, as(lock_mode::exclusive, options_.wait)); }

bool shared_mutex::try_lock() { return lock_within(milliseconds{0}); }

bool shared_mutex::lock_within(milliseconds wait) {
  auto got = locks_.try_acquire(name_, as(lock_mode::exclusive, wait));
  if (!got) return false;
  writer_ = std::move(*got);
  return true;
}

void shared_mutex::unlock() noexcept { const guard let_go(std::move(writer_)); }

void shared_mutex::lock_shared() {
  auto got = locks_.acquire(name_, as(lock_mode::shared, options_.wait));
  const std::lock_guard lock(mutex_);
  readers_.push_back(std::move(got));
}

bool shared_mutex::try_lock_shared() { return lock_shared_within(milliseconds{0}); }

bool shared_mutex::lock_shared_within(milliseconds wait) {
  auto got = locks_.try_acquire(name_, as(lock_mode::shared, wait));
  if (!got) return false;
  const std::lock_guard lock(mutex_);
  readers_.push_back(std::move(*got));
  return true;
}

// Readers of one object are alike, so any hold will do; a lost one goes first.
void shared_mutex::unlock_shared() noexcept {
  guard let_go;
  const std::lock_guard lock(mutex_);
  if (readers_.empty()) return;
  auto which = std::find_if(readers_.begin(), readers_.end(), [](const guard& one) { return !one.valid(); });
  if (which == readers_.end()) which = readers_.end() - 1;
  let_go = std::move(*which);
  readers_.erase(which);
}

result<void> shared_mutex::upgrade(std::optional<milliseconds> wait, std::stop_token stop) {
  guard mine;
  {
    const std::lock_guard lock(mutex_);
    if (readers_.empty()) return failure(errc::invalid_argument, "upgrade of \"" + name_ + "\" without a shared hold");
    mine = std::move(readers_.back());
    readers_.pop_back();
  }
  auto done = mine.upgrade(wait, std::move(stop));
  if (done) {
    writer_ = std::move(mine);
    return done;
  }
  const std::lock_guard lock(mutex_);
  readers_.push_back(std::move(mine));
  return done;
}

result<void> shared_mutex::downgrade() {
  auto mine = std::move(writer_);
  auto done = mine.downgrade();
  if (!done) {
    writer_ = std::move(mine);
    return done;
  }
  const std::lock_guard lock(mutex_);
  readers_.push_back(std::move(mine));
  return done;
}

}  // namespace interlock::inline v1
