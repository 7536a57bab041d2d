// SPDX-License-Identifier: MIT
#pragma once

#include "tcp.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// The floor of everything about Redis: a blocking socket, and the fewest instructions that find a reply's end.
namespace bench {

/// As it goes over the wire.
std::string command(std::initializer_list<std::string_view> words);

/// How long the first value in `bytes` is, reply or command; 0: it is not there in full.
std::size_t value_length(std::string_view bytes);

class raw_redis {
 public:
  explicit raw_redis(std::uint16_t port);

  void send(std::string_view bytes);
  /// The next reply or push as it came, until the next call. Throws if it is an error.
  std::string_view receive();
  std::string_view call(std::string_view bytes) {
    send(bytes);
    return receive();
  }
  /// Makes the room for the next reply anew, cleared, as a std::string does that is read into. Nothing may be left in
  /// it.
  void renew_room();
  /// What a reply of one text says.
  std::string text(std::initializer_list<std::string_view> words);
  /// Its name for EVALSHA.
  std::string load(std::string_view script) { return text({"SCRIPT", "LOAD", script}); }
  [[nodiscard]] bool more_is_here() const { return value_length(rest()) > 0; }

 private:
  [[nodiscard]] std::string_view rest() const { return std::string_view(in_).substr(begin_, end_ - begin_); }
  tcp_socket socket_;
  std::string in_;
  std::size_t begin_ = 0, end_ = 0;  // received and not yet given out
};

/// What the server did, by its own account.
class redis_statistics {
 public:
  explicit redis_statistics(std::uint16_t port) : server_(port) {}
  void reset() { server_.call(command({"CONFIG", "RESETSTAT"})); }
  /// Seconds it spent in EVALSHA since.
  [[nodiscard]] double script_seconds();
  /// Connections but this object's own.
  [[nodiscard]] int connections();

 private:
  raw_redis server_;
};

}  // namespace bench
