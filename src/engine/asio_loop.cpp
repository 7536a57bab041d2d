// SPDX-License-Identifier: MIT
#include "engine/loop.hpp"
#include "engine/thread.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
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
    net::post(io_, [this] { run_posted(); });
  }
  void call_at(instant when, unique_function<void()> work) override {
    const std::lock_guard lock(mutex_);
    calls_.emplace(when, std::move(work));
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
    std::vector<unique_function<void()>> due;
    bool tick = false;
    {
      const std::lock_guard lock(mutex_);
      const auto now = boot_clock::now();
      armed_ = instant::max();
      for (auto first = calls_.begin(); first != calls_.end() && first->first <= now; first = calls_.erase(first))
        due.push_back(std::move(first->second));
      tick = tick_at_ <= now;
      if (tick) tick_at_ = instant::max();
      arm(std::min(tick_at_, calls_.empty() ? instant::max() : calls_.begin()->first));
    }
    if (tick) tick_();
    for (auto& one : due) one();
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

  net::io_context io_{1};
  net::executor_work_guard<net::io_context::executor_type> work_;
  std::optional<net::posix::stream_descriptor> timer_;
  std::function<void()> tick_;
  std::mutex mutex_;                  // everything below but running_
  instant armed_ = instant::max();    // what the timer is set to
  instant tick_at_ = instant::max();  // what the engine wants
  std::multimap<instant, unique_function<void()>> calls_;
  std::vector<unique_function<void()>> posted_;
  bool called_ = false;
  std::vector<unique_function<void()>> running_;  // the loop's thread's own
  std::thread thread_;
};

}  // namespace

std::unique_ptr<loop> make_asio_loop() { return std::make_unique<asio_loop>(); }

}  // namespace interlock::inline v1::runtime
