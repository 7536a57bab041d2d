// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/pending.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include <memory>
#include <utility>

/// Opt-in, and the only header that includes Asio: awaits interlock's operations with any Asio completion token.
namespace interlock::inline v1 {

/// `auto reply = co_await interlock::async_wait(locks.async_acquire("x"), net::use_awaitable);` gives a result<guard>,
/// resumed on the coroutine's own executor. An Asio coroutine cannot await a foreign type; this is the bridge.
template <class T, class CompletionToken>
auto async_wait(pending<T> operation, CompletionToken&& token) {
  namespace net = boost::asio;
  // Passed as an argument, not captured: g++ 12 destroys captures of such a lambda twice inside co_await.
  auto start = [](auto handler, std::shared_ptr<pending<T>> started) {
    auto to = net::get_associated_executor(handler);
    auto work = net::make_work_guard(to);
    auto kept = std::make_shared<decltype(handler)>(std::move(handler));
    started->then([kept, to, work = std::move(work)](result<T> got) mutable {
      auto reply = std::make_shared<result<T>>(std::move(got));
      net::dispatch(to, [kept, reply]() mutable { std::move (*kept)(std::move(*reply)); });
    });
  };
  return net::async_initiate<CompletionToken, void(result<T>)>(start, token,
                                                               std::make_shared<pending<T>>(std::move(operation)));
}

}  // namespace interlock::inline v1
