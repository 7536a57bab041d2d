// SPDX-License-Identifier: MIT
#pragma once

#include "net/stream.hpp"

#include <interlock/clock.hpp>
#include <interlock/options.hpp>
#include <interlock/result.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

struct sockaddr;

namespace interlock::inline v1::net {

/// A connected socket and the bytes that go over it. Whoever takes it over leaves -1.
struct established {
  int socket = -1;
  std::unique_ptr<stream> bytes{};
  established() = default;
  established(established&& other) noexcept;
  established& operator=(established&&) = delete;
  ~established();
};

/// One attempt to connect, with its deadline. Blocks, and so has a thread of its own (away.hpp): looking up a host's
/// name cannot be told to wait elsewhere.
class dial {
 public:
  dial(milliseconds patience, const std::atomic<bool>& cancelled)
      : until_(boot_clock::now() + patience), cancelled_(cancelled) {}

  /// `unheard`: for so long what was sent may stay without a sign of the other side.
  result<void> tcp(const std::string& host, std::uint16_t port, milliseconds unheard, established& out) const;
  result<void> local(const std::string& path, established& out) const;
  /// `out.bytes` is new, and may have something to say before it can be used.
  result<void> shake_hands(established& out) const;

  /// Until the socket can be read or written (`what`, as for poll()).
  result<void> await(int socket, short what) const;

 private:
  result<void> connect(established& out, int family, const sockaddr* to, unsigned size, milliseconds unheard) const;

  const instant until_;
  const std::atomic<bool>& cancelled_;
};

}  // namespace interlock::inline v1::net
