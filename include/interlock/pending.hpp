// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/detail/operation.hpp>
#include <interlock/result.hpp>

#include <concepts>
#include <coroutine>
#include <future>
#include <memory>
#include <utility>

namespace interlock::inline v1 {

namespace detail {
template <class T>
struct result_awaiter {
  std::shared_ptr<operation<T>> op;
  [[nodiscard]] bool await_ready() const noexcept { return op->ready(); }
  bool await_suspend(std::coroutine_handle<> caller) {
    return op->continue_with([caller] { caller.resume(); });
  }
  result<T> await_resume() { return op->take(); }
};
template <class T>
struct throwing_awaiter : result_awaiter<T> {
  T await_resume() { return this->op->take().value(); }
};
}  // namespace detail

/// An operation under way: it was started when you got this.
///
/// Take the outcome once, in one of these ways. Destroying it unfinished (or the coroutine frame that awaits it)
/// cancels the operation and undoes whatever the store did. Callbacks and coroutines go on where
/// client_options::resume_on says, else on the client's callback thread; never inside the call that registered them.
template <class T>
class [[nodiscard]] pending {
 public:
  explicit pending(std::shared_ptr<detail::operation<T>> op) noexcept : op_(std::move(op)) {}
  pending(pending&&) noexcept = default;
  pending& operator=(pending&& other) noexcept {
    if (this != &other) {
      abandon();
      op_ = std::move(other.op_);
    }
    return *this;
  }
  ~pending() { abandon(); }  // never blocks

  [[nodiscard]] bool ready() const noexcept { return op_->ready(); }
  /// Blocks; throws lock_error.
  T get() { return get_result().value(); }
  /// Blocks. On one of the client's own threads it answers errc::deadlock instead.
  result<T> get_result() {
    auto op = op_;
    if (auto refused = op->wait()) return *refused;
    op_.reset();
    return op->take();
  }
  /// Calls f(result<T>) once. Move-only callables are welcome.
  template <std::invocable<result<T>> F>
  void then(F f) {
    auto op = std::exchange(op_, nullptr);
    auto* from = op.get();
    from->call_later([op = std::move(op), f = std::move(f)]() mutable { f(op->take()); });
  }
  std::future<T> to_future() {
    std::promise<T> promise;
    auto later = promise.get_future();
    then([promise = std::move(promise)](result<T> got) mutable { fulfil(promise, std::move(got)); });
    return later;
  }
  /// `T guard = co_await ...;` throws lock_error.
  detail::throwing_awaiter<T> operator co_await() { return {{op_}}; }
  /// `auto reply = co_await locks.async_acquire("x").as_result();`
  detail::result_awaiter<T> as_result() { return {op_}; }

 private:
  void abandon() noexcept {
    if (op_) op_->abandon();
    op_.reset();
  }
  static void fulfil(std::promise<T>& promise, result<T> got) {
    if (!got)
      promise.set_exception(std::make_exception_ptr(lock_error(got.error())));
    else if constexpr (std::is_void_v<T>)
      promise.set_value();
    else
      promise.set_value(std::move(*got));
  }
  std::shared_ptr<detail::operation<T>> op_;
};

}  // namespace interlock::inline v1
