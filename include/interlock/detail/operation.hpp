// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/detail/completion.hpp>
#include <interlock/result.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace interlock::inline v1::detail {

/// Something to be done where user code runs.
class posted {
 public:
  virtual ~posted() = default;
  virtual void run() noexcept = 0;
};

/// Where user code runs: the user's executor, or the client's callback thread.
class callback_place {
 public:
  virtual ~callback_place() = default;
  virtual void post(std::shared_ptr<posted> work) noexcept = 0;
  template <std::invocable F>
  void post(F call) noexcept {
    struct once final : posted {
      explicit once(F&& f) : call(std::move(f)) {}
      void run() noexcept override { call(); }
      F call;
    };
    post(std::shared_ptr<posted>(std::make_shared<once>(std::move(call))));
  }
  /// True on threads of the client, where blocking could wait for itself.
  [[nodiscard]] virtual bool is_current() const noexcept = 0;
};

/// One asynchronous operation: becomes ready once; one thread may wait, or one continuation may be kept, not both.
class operation_base : public posted {
 public:
  /// Whoever derives from it keeps the place alive, until the outcome is taken at least.
  explicit operation_base(callback_place& place) noexcept : place_(place) {}
  operation_base(const operation_base&) = delete;
  operation_base& operator=(const operation_base&) = delete;
  ~operation_base() override;

  /// Calls the continuation: it was posted when the outcome was there.
  void run() noexcept final;
  [[nodiscard]] bool ready() const noexcept { return (state_.load(std::memory_order_acquire) & is_ready) != 0; }
  /// Blocks until ready; a failure if this thread must not block.
  [[nodiscard]] std::optional<failure> wait() const;
  /// Keeps `next` and runs it at the callback place when ready. false: ready already, `next` was not kept.
  template <class F>
  bool continue_with(F next) {
    if (ready()) return false;
    next_.emplace(std::move(next));
    return keep(has_next);
  }
  /// Like continue_with, but goes to the callback place also if ready already, and will not be abandoned: nobody is
  /// left who could.
  template <class F>
  void call_later(F next) {
    next_.emplace(std::move(next));
    if (ready() || !keep(has_next | stays)) place_.post(std::move(next_));
  }
  /// The caller has gone: undo whatever was or will be done.
  void abandon() noexcept;

 protected:
  /// The outcome is in place: wakes the waiter or posts the continuation. Called once. `self` keeps it alive until that
  /// has run; nothing will do if nobody has got it yet.
  void publish(std::shared_ptr<operation_base> self) noexcept;
  virtual void cancel() noexcept = 0;

 private:
  enum : std::uint32_t { is_ready = 1, has_next = 2, next_taken = 4, is_awaited = 8, stays = 16 };
  // next_ is there. false: it was ready before; nobody else will take it.
  [[nodiscard]] bool keep(std::uint32_t as) noexcept { return (state_.fetch_or(as) & is_ready) == 0; }

  callback_place& place_;
  // Whoever says has_next has written it; whoever first says next_taken has it then. If it stays, that is publish().
  unique_function<void()> next_;
  mutable std::atomic<std::uint32_t> state_{0};
};

template <class T>
class operation : public operation_base {
 public:
  using operation_base::operation_base;
  /// Once, when it is ready.
  virtual result<T> take() = 0;
};

/// One that keeps its outcome itself.
template <class T>
class keeping_operation : public operation<T> {
 public:
  using operation<T>::operation;
  result<T> take() override {
    auto got = std::move(*outcome_);
    outcome_.reset();
    return got;
  }

 protected:
  void finish(result<T> outcome, std::shared_ptr<operation_base> self) noexcept {
    outcome_.emplace(std::move(outcome));
    this->publish(std::move(self));
  }

 private:
  std::optional<result<T>> outcome_;
};

}  // namespace interlock::inline v1::detail
