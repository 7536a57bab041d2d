// SPDX-License-Identifier: MIT
#include "net/stream.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace interlock::inline v1::net {
namespace {

class plain final : public stream {
 public:
  // Only read_soon() and read_at_last() may block, and the first not for long: whoever wants to wake its caller cannot.
  explicit plain(int socket) noexcept : socket_(socket) {
    patient_ = give_up_after(soon) && ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) & ~O_NONBLOCK) == 0;
  }

  moved read(char* to, std::size_t size) noexcept override {
    return outcome(receive(to, size, MSG_DONTWAIT), progress::wants_read);
  }
  moved read_soon(char* to, std::size_t size) noexcept override {
    return outcome(receive(to, size, patient_ && give_up_after(soon) ? 0 : MSG_DONTWAIT), progress::wants_read);
  }
  moved read_at_last(char* to, std::size_t size) noexcept override {
    return outcome(receive(to, size, patient_ && give_up_after(never) ? 0 : MSG_DONTWAIT), progress::wants_read);
  }
  moved write(const char* from, std::size_t size) noexcept override {
    const auto flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    return outcome(::syscall(SYS_sendto, socket_, from, size, flags, nullptr, 0), progress::wants_write);
  }
  [[nodiscard]] std::string reason() const override {
    const int error = error_.load();
    return error == 0 ? "the server closed the connection" : std::generic_category().message(error);
  }

 private:
  enum : int { never = 0, soon = 4 };  // milliseconds
  // The kernel keeps a timer for each read that can be given up: whoever can wait is spared it.
  bool give_up_after(int time) noexcept {
    if (time == gives_up_after_) [[likely]]
      return true;
    const timeval most{.tv_sec = 0, .tv_usec = 1'000 * time};
    if (::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) != 0) return false;
    gives_up_after_ = time;
    return true;
  }
  // Not ::recv() and ::send(), where a thread can be cancelled: here that would end the program.
  [[nodiscard]] ssize_t receive(char* to, std::size_t size, int flags) const noexcept {
    return ::syscall(SYS_recvfrom, socket_, to, size, flags, nullptr, nullptr);
  }
  moved outcome(ssize_t got, progress when_full) noexcept {
    if (got > 0) return {static_cast<std::size_t>(got), progress::done};
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {0, when_full};
    error_.store(got == 0 ? 0 : errno);
    return {0, progress::ended};
  }

  int socket_;
  bool patient_ = false;
  int gives_up_after_ = never;
  std::atomic<int> error_{0};
};

}  // namespace

std::unique_ptr<stream> plain_stream(int socket) { return std::make_unique<plain>(socket); }

}  // namespace interlock::inline v1::net
