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
    watch_ = loop.when_readable(fd_, std::move(ready));
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
    ::epoll_ctl(fd_, EPOLL_CTL_MOD, socket_, &now);
  }

  int fd_ = -1;
  int socket_ = -1;
  unsigned events_ = 0;
  subscription watch_;
};

}  // namespace interlock::inline v1::net
