// SPDX-License-Identifier: MIT
#pragma once

#include "backends/memcached/settings.hpp"

#include "net/away.hpp"
#include "net/stream.hpp"

#include <map>
#include <memory>
#include <string>

namespace interlock::inline v1::memcached_store {

/// A socket that has been greeted, and what the server says of itself (`stats`).
struct established {
  int socket = -1;
  std::unique_ptr<net::stream> bytes{};  ///< over the socket
  std::map<std::string, std::string, std::less<>> stats{};
  established() = default;
  established(established&& other) noexcept;
  established& operator=(established&&) = delete;
  ~established();
};

/// Makes connections, on a thread of its own: looking up a host's name cannot be told to wait elsewhere.
class dial {
 public:
  using handler = unique_function<void(result<established>)>;
  /// `done` is called on the loop, unless cancelled.
  void start(const memcached_settings& to, reactor& loop, handler done);
  void cancel() noexcept { away_.cancel(); }

 private:
  net::away<result<established>> away_;
};

}  // namespace interlock::inline v1::memcached_store
