// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <functional>
#include <utility>

namespace interlock::inline v1::net {

/// An epoll instance with one socket in it, watched by the loop for good: it can be shut, and opened for writing too,
/// without telling the loop. Not locked.
class gate {
 public:
  gate() noexcept = default;
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() {
    watch_ = {};
    if (fd_ >= 0) ::close(fd_);
  }

  void open(int socket, reactor& loop, std::function<void()> ready) {
    socket_ = socket;
    fd_ = ::epoll_create1(EPOLL_CLOEXEC);
    events_ = EPOLLIN;
    epoll_event what{.events = events_, .data = {}};
    ::epoll_ctl(fd_, EPOLL_CTL_ADD, socket_, &what);
    there_ = true;
    watch_ = loop.when_readable(fd_, std::move(ready));
  }
  /// Shut, and likely to stay so: the kernel is spared looking here whenever something arrives.
  void rest() noexcept {
    if (events_ != 0 || !there_) return;
    ::epoll_ctl(fd_, EPOLL_CTL_DEL, socket_, nullptr);
    there_ = false;
  }
  void read(bool wanted) noexcept { let(wanted, EPOLLIN); }
  void write(bool wanted) noexcept { let(wanted, EPOLLOUT); }
  [[nodiscard]] bool writes() const noexcept { return (events_ & EPOLLOUT) != 0; }

  /// To be dropped where its callback cannot be running and waiting for the caller.
  [[nodiscard]] subscription end() noexcept { return std::move(watch_); }

 private:
  void let(bool wanted, unsigned what) noexcept {
    const auto events = wanted ? events_ | what : events_ & ~what;
    if (events == events_ || fd_ < 0) return;
    events_ = events;
    epoll_event now{.events = events_, .data = {}};
    ::epoll_ctl(fd_, std::exchange(there_, true) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket_, &now);
  }

  int fd_ = -1;
  int socket_ = -1;
  unsigned events_ = 0;
  bool there_ = false;  // the socket, in it
  subscription watch_;
};

}  // namespace interlock::inline v1::net
