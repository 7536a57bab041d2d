// SPDX-License-Identifier: MIT
#include "backends/etcd/mailbox.hpp"

#include "engine/thread.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

constexpr std::chrono::milliseconds a_moment{5};

void tell(void* tag, bool ok) noexcept { static_cast<notice*>(tag)->arrived(ok); }

}  // namespace

mailbox::mailbox() : always_(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
  thread_ = runtime::start_thread("il-etcd", [this] { read_on(); });
}

mailbox::~mailbox() {
  close();
  if (always_ >= 0) ::close(always_);
}

void mailbox::close() noexcept {
  if (!thread_.joinable()) return;
  queue_.Shutdown();
  {
    const std::lock_guard lock(mutex_);
    aside_ = {};
    changed_.notify_all();
  }
  thread_.join();
}

void mailbox::read_on() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (reads_ != reader::nobody || clock::now() < aside_) changed_.wait_for(lock, a_moment);
    reads_ = reader::thread;
    lock.unlock();
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok)) return;
    tell(tag, ok);
    lock.lock();
    reads_ = reader::nobody;
    if (std::exchange(wanted_, false) && asked_ == answered_) aside_ = clock::now() + a_moment;
  }
}

void mailbox::call_the_thread() noexcept {
  const std::lock_guard lock(mutex_);
  aside_ = {};
  if (reads_ == reader::nobody) changed_.notify_all();
}

void mailbox::asked(inline_work here) noexcept {
  asked_.fetch_add(1);
  if (here != inline_work::if_brief) call_the_thread();
}

void mailbox::answered() noexcept { answered_.fetch_add(1); }

int mailbox::borrow() noexcept {
  const std::lock_guard lock(mutex_);
  if (reads_ == reader::thread) wanted_ = true;
  if (reads_ != reader::nobody || always_ < 0) return -1;
  reads_ = reader::borrower;
  return always_;
}

backend::arrival mailbox::await() noexcept {
  const auto before = answered_.load();
  const auto end = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(a_moment.count(), GPR_TIMESPAN));
  while (answered_ == before) {
    if (asked_ == before) return backend::arrival::the_end;
    void* tag = nullptr;
    bool ok = false;
    switch (queue_.AsyncNext(&tag, &ok, end)) {
      case grpc::CompletionQueue::SHUTDOWN: return backend::arrival::the_end;
      case grpc::CompletionQueue::TIMEOUT: return backend::arrival::nothing;
      case grpc::CompletionQueue::GOT_EVENT: tell(tag, ok); break;
    }
  }
  return backend::arrival::something;
}

void mailbox::give_back(backend::loan_end as) noexcept {
  const std::lock_guard lock(mutex_);
  reads_ = reader::nobody;
  aside_ = as == backend::loan_end::others_wait ? clock::time_point{} : clock::now() + a_moment;
  if (as == backend::loan_end::others_wait) changed_.notify_all();
}

}  // namespace interlock::inline v1::etcd_store
