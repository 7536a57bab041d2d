// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::test_support {

/// What a Redis server said.
struct redis_value {
  enum class kind : std::uint8_t { nil, text, number, error, list };
  kind is = kind::nil;
  std::string text{};  // also of an error
  std::int64_t number = 0;
  std::vector<redis_value> list{};

  [[nodiscard]] bool nil() const noexcept { return is == kind::nil; }
  [[nodiscard]] bool error() const noexcept { return is == kind::error; }
  [[nodiscard]] std::size_t size() const noexcept { return list.size(); }
  /// Of a list; nil behind its end.
  [[nodiscard]] const redis_value& operator[](std::size_t index) const noexcept;
  /// Of a list of texts.
  [[nodiscard]] bool has(std::string_view one) const noexcept;

  /// A text, or a number.
  friend bool operator==(const redis_value& value, std::string_view expected) {
    return value.is == kind::text && value.text == expected;
  }
  friend bool operator==(const redis_value& value, std::int64_t expected) {
    return value.is == kind::number && value.number == expected;
  }
  friend std::ostream& operator<<(std::ostream& out, const redis_value& value);
};

/// A connection to a Redis server that shares nothing with the code under test: blocking, RESP2, a few lines. Throws
/// std::runtime_error when the server cannot be reached or is silent for ten seconds.
class redis_peek {
 public:
  using words = std::vector<std::string>;

  explicit redis_peek(const std::filesystem::path& socket);
  explicit redis_peek(int port);
  redis_peek(redis_peek&& other) noexcept;
  redis_peek& operator=(redis_peek&&) = delete;
  ~redis_peek();

  /// Throws what the server says if that is an error; ask() returns it.
  redis_value command(const words& what);
  redis_value ask(const words& what);
  /// The two halves of ask(): for pipelines, subscriptions, and requests that nobody waits for.
  void send(const words& what) const;
  redis_value receive(std::chrono::milliseconds within = std::chrono::seconds{10});

 private:
  std::string line();
  std::string bytes(std::size_t count);
  void more();
  redis_value value();

  int fd_ = -1;
  std::string read_;
  std::chrono::steady_clock::time_point end_{};
};

}  // namespace interlock::test_support
