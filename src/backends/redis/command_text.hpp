// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace interlock::inline v1::redis_store {

/// A command as it is sent, while it is put together: a header, then so many arguments. There is one for each request,
/// and it is written in place; a string looks for room, and for its end, at every piece.
class command_text {
 public:
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.get(), size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return room_; }
  void clear() noexcept { size_ = 0; }

  void header(std::size_t arguments) { wrote(length(room(longest_length), '*', arguments)); }
  void argument(std::string_view bytes) { copied(argument_of(bytes.size()), bytes); }
  /// An argument of so many bytes, to be written by the caller before anything else is added.
  [[nodiscard]] char* argument_of(std::size_t size) {
    auto* const at = length(room(size + longest_length + 2), '$', size);
    wrote(ended(at + size));
    return at;
  }
  void argument(std::int64_t number) {
    if (number >= 0 && number < 10) {
      *argument_of(1) = static_cast<char>('0' + number);
      return;
    }
    char digits[20];
    const auto* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    argument(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }
  /// Arguments that were put together elsewhere.
  void append(std::string_view bytes) { wrote(copied(room(bytes.size()), bytes)); }

 private:
  static constexpr std::size_t longest_length = 24;

  static char* length(char* at, char before, std::size_t value) noexcept {
    *at++ = before;
    if (value >= 1000) return ended(std::to_chars(at, at + 20, value).ptr);
    if (value >= 100) *at++ = static_cast<char>('0' + value / 100);
    if (value >= 10) *at++ = static_cast<char>('0' + value / 10 % 10);
    *at++ = static_cast<char>('0' + value % 10);
    return ended(at);
  }
  static char* copied(char* at, std::string_view bytes) noexcept {
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    return at + bytes.size();
  }
  static char* ended(char* at) noexcept {
    at[0] = '\r';
    at[1] = '\n';
    return at + 2;
  }

  char* room(std::size_t more) {
    if (room_ - size_ < more) grow(more);
    return bytes_.get() + size_;
  }
  void wrote(const char* up_to) noexcept { size_ = static_cast<std::size_t>(up_to - bytes_.get()); }
  void grow(std::size_t more) {
    const auto wide = std::max<std::size_t>({512, 2 * room_, size_ + more});
    auto wider = std::make_unique_for_overwrite<char[]>(wide);
    copied(wider.get(), view());
    bytes_ = std::move(wider);
    room_ = wide;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace interlock::inline v1::redis_store
