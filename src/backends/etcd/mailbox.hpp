// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace interlock::inline v1::etcd_store {

/// What gRPC is asked to tell about: told once for each time it was asked, by one thread at a time for all of them.
class notice {
 public:
  virtual void arrived(bool ok) noexcept = 0;

 protected:
  ~notice() = default;
};

/// Where gRPC puts what has arrived, and who reads it: a thread of our own, or a caller who waits for an answer and so
/// saves the way over that thread (backend::borrow_news). gRPC reads its sockets on the threads that wait here, so
/// while one of them does, no other can be spared a hop: the thread of our own steps aside as long as callers come
/// back.
class mailbox {
 public:
  mailbox();
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;
  ~mailbox();

  [[nodiscard]] grpc::CompletionQueue& queue() noexcept { return queue_; }
  /// An answer is under way. if_brief: whoever asked is about to borrow().
  void asked(inline_work here) noexcept;
  void answered() noexcept;

  /// A descriptor that can always be read: it is await() that waits. -1: somebody reads already.
  [[nodiscard]] int borrow() noexcept;
  /// Until an answer was told, or some milliseconds are over. the_end: none is under way.
  [[nodiscard]] backend::arrival await() noexcept;
  void give_back(backend::loan_end as) noexcept;

  /// When everything that was asked has been told. Not to be called on the thread of our own.
  void close() noexcept;

 private:
  enum class reader : std::uint8_t { nobody, thread, borrower };
  using clock = std::chrono::steady_clock;
  void read_on();
  void call_the_thread() noexcept;

  grpc::CompletionQueue queue_;
  int always_ = -1;
  std::atomic<std::uint64_t> asked_{0}, answered_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  reader reads_ = reader::nobody;
  bool wanted_ = false;        // a caller would have read for itself
  clock::time_point aside_{};  // until then the thread leaves it to callers
  std::thread thread_;
};

}  // namespace interlock::inline v1::etcd_store
