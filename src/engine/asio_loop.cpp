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

#include <cerrno>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

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
    const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
    timer_.emplace(io_, fd);
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
    if (when >= armed_) return;
    armed_ = when;
    const auto since_boot = std::max(when.time_since_epoch(), boot_clock::duration{1});  // 0 would disarm it
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    itimerspec at{};
    at.it_value.tv_sec = seconds.count();
    at.it_value.tv_nsec = (since_boot - seconds).count();
    ::timerfd_settime(timer_->native_handle(), TFD_TIMER_ABSTIME, &at, nullptr);
  }
  void stop() noexcept override {
    if (!thread_.joinable()) return;
    io_.stop();
    thread_.join();
  }
  void post(unique_function<void()> work) override {
    net::post(io_, [work = std::move(work)]() mutable { work(); });
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
      if (::read(timer_->native_handle(), &times, sizeof times) == sizeof times) {
        {
          const std::lock_guard lock(mutex_);
          armed_ = instant::max();
        }
        tick_();
      }
      wait();
    });
  }

  net::io_context io_{1};
  net::executor_work_guard<net::io_context::executor_type> work_;
  std::optional<net::posix::stream_descriptor> timer_;
  std::function<void()> tick_;
  std::mutex mutex_;  // guards armed_
  instant armed_ = instant::max();
  std::thread thread_;
};

}  // namespace

std::unique_ptr<loop> make_asio_loop() { return std::make_unique<asio_loop>(); }

}  // namespace interlock::inline v1::runtime
