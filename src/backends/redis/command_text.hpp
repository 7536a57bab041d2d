// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
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
  // This and append() are not in line: each request calls them several times, and code has to be fetched.
  [[gnu::noinline]] void argument(std::string_view bytes) { copied(argument_of(bytes.size()), bytes); }
  /// An argument that is in pieces.
  using pieces = std::array<std::string_view, 3>;
  void argument(const pieces& all) {
    auto* at = argument_of(all[0].size() + all[1].size() + all[2].size());
    copied(copied(copied(at, all[0]), all[1]), all[2]);
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
  [[gnu::noinline]] void append(std::string_view bytes) { wrote(copied(room(bytes.size()), bytes)); }

 private:
  static constexpr std::size_t longest_length = 24;

  // An argument of so many bytes, to be written before anything else is added.
  [[nodiscard]] char* argument_of(std::size_t size) {
    auto* const at = length(room(size + longest_length + 2), '$', size);
    wrote(ended(at + size));
    return at;
  }
  /// "$17\r\n" and the like, to be copied in one piece: lengths are written more often than anything else.
  struct ready_length {
    char text[8];
    std::size_t size;
  };
  static constexpr auto ready_lengths = [] {
    std::array<ready_length, 256> out{};
    for (std::size_t value = 0; value < out.size(); ++value) {
      auto& one = out[value];
      one.text[one.size++] = '$';
      for (std::size_t unit = value >= 100 ? 100 : value >= 10 ? 10 : 1; unit > 0; unit /= 10)
        one.text[one.size++] = static_cast<char>('0' + value / unit % 10);
      one.text[one.size++] = '\r';
      one.text[one.size++] = '\n';
    }
    return out;
  }();

  static char* length(char* at, char before, std::size_t value) noexcept {
    if (value < ready_lengths.size()) [[likely]] {
      const auto& one = ready_lengths[value];
      std::memcpy(at, one.text, sizeof one.text);  // longest_length has room for it
      *at = before;
      return at + one.size;
    }
    *at = before;
    return ended(std::to_chars(at + 1, at + 21, value).ptr);
  }
  // Most pieces are a few bytes: two moves that overlap do for them, in place of a call.
  static char* copied(char* at, std::string_view bytes) noexcept {
    const auto* const from = bytes.data();
    const auto size = bytes.size();
    if (size > 16) {
      std::memcpy(at, from, size);
    } else if (size >= 8) {
      copy_ends<std::uint64_t>(at, from, size);
    } else if (size >= 4) {
      copy_ends<std::uint32_t>(at, from, size);
    } else if (size > 0) {
      at[0] = from[0];
      at[size / 2] = from[size / 2];
      at[size - 1] = from[size - 1];
    }
    return at + size;
  }
  template <class Word>
  static void copy_ends(char* at, const char* from, std::size_t size) noexcept {
    Word first{}, last{};
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&last, from + size - sizeof last, sizeof last);
    std::memcpy(at, &first, sizeof first);
    std::memcpy(at + size - sizeof last, &last, sizeof last);
  }
  static char* ended(char* at) noexcept {
    at[0] = '\r';
    at[1] = '\n';
    return at + 2;
  }

  char* room(std::size_t more) {
    if (room_ - size_ < more) [[unlikely]]
      grow(more);
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
