// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sqlite/store_file.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace interlock::inline v1::sqlite_store {

/// What one process tells another when a claim of the other was granted or evicted.
struct wake_message {
  bool evicted = false;
  claim_secret whom{};
  standing as{};
};

/// A datagram socket in `<database>-wake/`, named by 16 random hexadecimal digits. Addressed: exactly the granted
/// client wakes. Sending to a name whose process is dead fails at once, which is how dead waiters are found.
///
/// send() may be called from one thread while another one receives.
class wake_channel {
 public:
  static result<std::unique_ptr<wake_channel>> open(const store_file& file);
  wake_channel() = default;
  wake_channel(const wake_channel&) = delete;
  wake_channel& operator=(const wake_channel&) = delete;
  ~wake_channel();

  /// As claims carry it; never 0.
  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  [[nodiscard]] int fd() const noexcept { return socket_; }

  enum class sent : std::uint8_t {
    yes,
    full,     ///< its buffer is: try again in a moment
    dead,     ///< no process has this socket open; what was left of it is removed
    unknown,  ///< could not be sent, for a reason that says nothing about the other process
  };
  sent send(std::int64_t to, const wake_message& what) noexcept;
  /// Hands every message that has arrived to `events`.
  void receive(backend_events& events) noexcept;
  /// Removes sockets of dead processes, looking at no more than `most` of them.
  void sweep(int most) noexcept;

 private:
  result<void> open_folder(const store_file& file);
  result<void> bind_socket(mode_t mode);
  sent send_bytes(const char* socket, const void* bytes, std::size_t size) noexcept;
  [[nodiscard]] bool own_is_there() const noexcept;

  std::string prefix_;  // what a socket's name needs before it to be an address
  std::string name_;
  std::int64_t id_ = 0;
  int folder_ = -1;
  int socket_ = -1;
};

}  // namespace interlock::inline v1::sqlite_store
