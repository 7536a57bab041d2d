// SPDX-License-Identifier: MIT
#include "net/stream.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace interlock::inline v1::net {
namespace {

class plain final : public stream {
 public:
  // Only read_soon() may block, and not for long: whoever wants to wake its caller cannot.
  explicit plain(int socket) noexcept : socket_(socket) {
    const timeval most{.tv_sec = 0, .tv_usec = 4'000};
    patient_ = ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0 &&
               ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) & ~O_NONBLOCK) == 0;
  }

  moved read(char* to, std::size_t size) noexcept override {
    return outcome(::recv(socket_, to, size, MSG_DONTWAIT), progress::wants_read);
  }
  moved read_soon(char* to, std::size_t size) noexcept override {
    return outcome(::recv(socket_, to, size, patient_ ? 0 : MSG_DONTWAIT), progress::wants_read);
  }
  moved write(const char* from, std::size_t size) noexcept override {
    return outcome(::send(socket_, from, size, MSG_DONTWAIT | MSG_NOSIGNAL), progress::wants_write);
  }
  [[nodiscard]] std::string reason() const override {
    const int error = error_.load();
    return error == 0 ? "the server closed the connection" : std::generic_category().message(error);
  }

 private:
  moved outcome(ssize_t got, progress when_full) noexcept {
    if (got > 0) return {static_cast<std::size_t>(got), progress::done};
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {0, when_full};
    error_.store(got == 0 ? 0 : errno);
    return {0, progress::ended};
  }

  int socket_;
  bool patient_ = false;
  std::atomic<int> error_{0};
};

}  // namespace

std::unique_ptr<stream> plain_stream(int socket) { return std::make_unique<plain>(socket); }

}  // namespace interlock::inline v1::net
