// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sqlite/store_file.hpp"

#include <interlock/backend.hpp>

#include <sys/un.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace interlock::inline v1::sqlite_store {

/// What one process tells another when a claim of the other was granted or evicted, or a cell was changed.
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
  /// Its name and the folder. The socket comes with listen(): a file to be made and removed, which a client that holds
  /// a lock for a moment can do without.
  static result<std::unique_ptr<wake_channel>> open(const store_file& file);
  wake_channel() = default;
  wake_channel(const wake_channel&) = delete;
  wake_channel& operator=(const wake_channel&) = delete;
  ~wake_channel();

  /// Before anything is sent or can be received. Again: nothing happens. One thread at a time.
  result<void> listen();
  [[nodiscard]] bool listening() const noexcept { return listening_.load(std::memory_order_acquire); }

  /// As claims carry it; never 0.
  [[nodiscard]] std::int64_t id() const noexcept { return id_; }
  /// Readable when there is something to receive and nobody has borrowed the socket.
  [[nodiscard]] int fd() const noexcept { return gate_; }
  /// The socket itself, for one thread that wants to listen to it alone; -1 if another one does.
  int borrow() noexcept;
  void give_back() noexcept;

  enum class sent : std::uint8_t {
    yes,
    full,     ///< its buffer is: try again in a moment
    dead,     ///< no process has this socket open; what was left of it is removed
    unknown,  ///< could not be sent, for a reason that says nothing about the other process
  };
  sent send(std::int64_t to, const wake_message& what) noexcept;
  /// To everybody who listens, `most` at most: the cell with this key was changed.
  void announce(const claim_secret& cell, int most) noexcept;
  /// Where such news goes. Before anything is received.
  void tell_cells_to(std::function<void(const claim_secret&)> reader) { cells_ = std::move(reader); }
  /// Hands every message that has arrived to `events`, or only the next one.
  void receive(backend_events& events, bool all = true) noexcept;
  /// Removes sockets of dead processes, looking at no more than `most` of them.
  void sweep(int most) noexcept;

 private:
  result<void> open_folder(const store_file& file);
  result<void> pick_name();
  result<void> bind_socket();
  result<void> open_gate();
  template <class F>
  void each_other(int most, F visit) const noexcept;
  sent send_bytes(const char* socket, const void* bytes, std::size_t size) noexcept;
  sent outcome(const char* socket, int error) const noexcept;
  int connected(std::int64_t to) noexcept;
  [[nodiscard]] sockaddr_un address(const char* socket) const noexcept;
  [[nodiscard]] bool own_is_there() const noexcept;

  std::string prefix_;  // what a socket's name needs before it to be an address
  std::string name_;    // once there is a file of that name
  std::int64_t id_ = 0;
  mode_t mode_ = 0600;
  int folder_ = -1;
  int socket_ = -1;
  int gate_ = -1;  // an epoll instance with nothing but the socket in it: opened and shut without telling who polls it
  std::function<void(const claim_secret&)> cells_;
  std::atomic<bool> listening_{false}, borrowed_{false};

  // Whom we have sent to of late. From the second time on over a socket of its own: the way by name costs as much again
  // as the message.
  struct peer {
    std::int64_t id = 0;
    int fd = -1;
  };
  static void drop(peer& one) noexcept;
  std::array<peer, 8> peers_{};
  std::size_t oldest_ = 0;
};

}  // namespace interlock::inline v1::sqlite_store
