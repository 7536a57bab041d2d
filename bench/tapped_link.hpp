// SPDX-License-Identifier: MIT
#pragma once

#include "tcp.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bench {

/// A way to a server that takes longer, on which we listen: a thread that passes on what comes, after `delay` in each
/// direction, and keeps what the clients have sent.
class tapped_link {
 public:
  tapped_link(std::uint16_t to, double delay);
  tapped_link(const tapped_link&) = delete;
  tapped_link& operator=(const tapped_link&) = delete;
  ~tapped_link();

  [[nodiscard]] std::uint16_t port() const { return door_.port(); }
  [[nodiscard]] std::string url(const std::string& options = {}) const;

  /// One request, as it came by.
  struct request {
    double at;
    std::string bytes;
  };
  /// Since the last time, of one client, in the order it sent them.
  std::vector<request> heard();

 private:
  struct parcel {
    double due;
    std::size_t to;  // in ends_
    std::string bytes;
  };
  struct end {
    tcp_socket socket;
    bool is_client;
    bool gone = false;
  };
  void run();
  void welcome();
  void take(std::size_t from);
  void deliver();
  void write_down(std::string_view bytes);

  const std::uint16_t to_;
  const double delay_;
  listener door_;
  std::deque<end> ends_;  // in pairs
  std::deque<parcel> under_way_;
  std::string unread_;  // of a request that is not complete yet
  std::mutex mutex_;
  std::vector<request> heard_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace bench
