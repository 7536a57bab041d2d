// SPDX-License-Identifier: MIT
#include "engine/loop.hpp"
#include "engine/thread.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace interlock::inline v1::runtime {
namespace {

namespace net = boost::asio;

/// One readable descriptor; watched through a duplicate, so that its owner may close it whenever it likes.
class readable final : public subscription::source, public std::enable_shared_from_this<readable> {
 public:
  readable(net::io_context& io, int fd, std::function<void()> ready)
      : descriptor_(io, ::fcntl(fd, F_DUPFD_CLOEXEC, 0)), ready_(std::move(ready)) {}

  void wait() {
    descriptor_.async_wait(net::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](const boost::system::error_code& wrong) {
                             if (wrong) return;
                             {
                               const std::lock_guard lock(self->mutex_);
                               if (self->ended_) return;
                               self->ready_();
                             }
                             self->wait();
                           });
  }
  void end() noexcept override {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    net::post(descriptor_.get_executor(), [self = shared_from_this()] { self->forget(); });
  }
  void forget() noexcept {
    boost::system::error_code ignored;
    descriptor_.close(ignored);
  }

 private:
  net::posix::stream_descriptor descriptor_;
  std::function<void()> ready_;
  std::recursive_mutex mutex_;  // ready_ may end its own subscription
  bool ended_ = false;
};

/// Room for the one call of ours that Asio queues at a time, so that queueing it from any thread allocates nothing.
class call_room {
 public:
  void* take(std::size_t size) {
    if (size > sizeof bytes_ || used_.exchange(true, std::memory_order_acquire)) return ::operator new(size);
    return bytes_;
  }
  void give(void* block) noexcept {
    if (block != bytes_) return ::operator delete(block);
    used_.store(false, std::memory_order_release);
  }

 private:
  alignas(std::max_align_t) std::byte bytes_[128];
  std::atomic<bool> used_{false};
};
template <class T>
struct call_allocator {
  using value_type = T;
  explicit call_allocator(call_room& in) noexcept : room(&in) {}
  template <class U>
  call_allocator(const call_allocator<U>& other) noexcept : room(other.room) {}
  T* allocate(std::size_t count) { return static_cast<T*>(room->take(count * sizeof(T))); }
  void deallocate(T* block, std::size_t) noexcept { room->give(block); }
  friend bool operator==(const call_allocator& left, const call_allocator& right) noexcept {
    return left.room == right.room;
  }
  call_room* room;
};

class asio_loop final : public loop {
 public:
  asio_loop() : work_(net::make_work_guard(io_)) {
    const int clock = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (clock < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
    timer_.emplace(io_, clock);
  }
  ~asio_loop() override { stop(); }
  asio_loop(const asio_loop&) = delete;
  asio_loop& operator=(const asio_loop&) = delete;

  void start(std::function<void()> tick, std::function<void()> on_thread_start) override {
    tick_ = std::move(tick);
    wait();
    thread_ = start_thread("interlock-loop", [this, begin = std::move(on_thread_start)] {
      begin();
      io_.run();
    });
  }
  void wake_at(instant when) noexcept override {
    const std::lock_guard lock(mutex_);
    tick_at_ = std::min(tick_at_, when);
    arm(when);
  }
  void stop() noexcept override {
    if (!thread_.joinable()) return;
    io_.stop();
    thread_.join();
  }
  void post(unique_function<void()> work) override {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(work));
      if (std::exchange(called_, true)) return;
    }
    net::post(io_, net::bind_allocator(call_allocator<std::byte>(call_), [this] { run_posted(); }));
  }
  void call_at(instant when, unique_function<void()> work) override {
    const std::lock_guard lock(mutex_);
    if (spare_calls_.empty()) {
      calls_.emplace(when, std::move(work));
    } else {
      auto node = std::move(spare_calls_.back());
      spare_calls_.pop_back();
      node.key() = when;
      node.mapped() = std::move(work);
      calls_.insert(std::move(node));
    }
    arm(when);
  }
  subscription when_readable(int fd, std::function<void()> ready) override {
    auto one = std::make_shared<readable>(io_, fd, std::move(ready));
    one->wait();
    return subscription(one);
  }

 private:
  void wait() {
    timer_->async_wait(net::posix::stream_descriptor::wait_read, [this](const boost::system::error_code& wrong) {
      if (wrong) return;
      std::uint64_t times = 0;
      if (::read(timer_->native_handle(), &times, sizeof times) == sizeof times) time_has_come();
      wait();
    });
  }

  void arm(instant when) noexcept {
    if (when >= armed_) return;
    armed_ = when;
    const auto since_boot = std::max(when.time_since_epoch(), boot_clock::duration{1});  // 0 would disarm it
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    itimerspec at{};
    at.it_value.tv_sec = seconds.count();
    at.it_value.tv_nsec = (since_boot - seconds).count();
    ::timerfd_settime(timer_->native_handle(), TFD_TIMER_ABSTIME, &at, nullptr);
  }

  void time_has_come() {
    bool tick = false;
    {
      const std::lock_guard lock(mutex_);
      const auto now = boot_clock::now();
      armed_ = instant::max();
      while (!calls_.empty() && calls_.begin()->first <= now) {
        auto node = calls_.extract(calls_.begin());
        due_.push_back(std::move(node.mapped()));
        if (spare_calls_.size() < few_calls) spare_calls_.push_back(std::move(node));
      }
      tick = tick_at_ <= now;
      if (tick) tick_at_ = instant::max();
      arm(std::min(tick_at_, calls_.empty() ? instant::max() : calls_.begin()->first));
    }
    if (tick) tick_();
    for (auto& one : due_) one();
    due_.clear();
  }

  // Swapped out and back, so that a busy loop allocates nothing.
  void run_posted() {
    {
      const std::lock_guard lock(mutex_);
      called_ = false;
      running_.swap(posted_);
    }
    for (auto& one : running_) one();
    running_.clear();
  }

  call_room call_;  // outlives what Asio still has queued
  net::io_context io_{1};
  net::executor_work_guard<net::io_context::executor_type> work_;
  std::optional<net::posix::stream_descriptor> timer_;
  std::function<void()> tick_;
  std::mutex mutex_;                  // everything below but running_ and due_
  instant armed_ = instant::max();    // what the timer is set to
  instant tick_at_ = instant::max();  // what the engine wants
  using timed_calls = std::multimap<instant, unique_function<void()>>;
  timed_calls calls_;
  static constexpr std::size_t few_calls = 16;
  std::vector<timed_calls::node_type> spare_calls_;  // of calls that were made, for the next ones
  std::vector<unique_function<void()>> posted_;
  bool called_ = false;
  std::vector<unique_function<void()>> running_, due_;  // the loop's thread's own
  std::thread thread_;
};

}  // namespace

std::unique_ptr<loop> make_asio_loop() { return std::make_unique<asio_loop>(); }

}  // namespace interlock::inline v1::runtime
