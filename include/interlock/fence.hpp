// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>
#include <interlock/token.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// The other half of a fencing token: the check, for the places people write to.
namespace interlock::inline v1 {

/// A server guarding its own resource: remembers the highest token it has seen.
class fence {
 public:
  /// false: a later holder was here already; refuse the write.
  bool admit(fencing_token token) noexcept;
  /// The highest token admitted, if any.
  [[nodiscard]] std::optional<fencing_token> highest() const noexcept;

 private:
  std::atomic<std::uint64_t> highest_{0};
};

/// A file that refuses stale holders: writes replace its content in one step, and only while no later token has
/// written. The highest token is kept beside it in FILE.fence, and both are changed under one file lock, so any number
/// of processes of one host may write.
class fenced_file {
 public:
  explicit fenced_file(std::filesystem::path path);

  /// lost: a later token has written. unavailable: the file could not be written; nothing changed.
  result<void> write(fencing_token token, std::string_view content);
  /// Reads the content, lets `change` edit it and writes it back, all under the file's own lock.
  template <class F>
  result<void> update(fencing_token token, F change) {
    auto locked = lock();
    if (!locked) return locked.error();
    auto content = read_locked();
    if (!content) return content.error();
    change(*content);
    return write_locked(token, *content);
  }
  /// The content; empty if there is no file yet.
  [[nodiscard]] result<std::string> read() const;
  /// The highest token that has written; none yet: empty.
  [[nodiscard]] result<std::optional<fencing_token>> highest() const;

 private:
  class file_lock {
   public:
    explicit file_lock(int fd) noexcept : fd_(fd) {}
    file_lock(file_lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    file_lock& operator=(file_lock&&) = delete;
    ~file_lock();

   private:
    int fd_;
  };
  [[nodiscard]] result<file_lock> lock() const;
  [[nodiscard]] result<std::string> read_locked() const;
  result<void> write_locked(fencing_token token, std::string_view content);

  std::filesystem::path path_;
};

enum class sql_dialect : std::uint8_t { postgres, mysql, sqlite };

/// Text for any SQL driver. Run `create` once. In your transaction run `admit` first, with the lock's name and the
/// token as its two parameters. Admitted: exactly one row comes back (sqlite, postgres), or three or more are affected
/// (mysql, where 0, 1 and 2 depend on how the connection was opened). Anything else: roll back.
struct sql_fence_text {
  std::string_view create, admit;
};
sql_fence_text sql_fence(sql_dialect dialect) noexcept;

/// What guard::sequencer() says, taken apart.
struct sequencer_parts {
  std::string name{};
  bool shared = false;
  fencing_token token{0};
};
/// Nothing if the text is not a sequencer.
std::optional<sequencer_parts> parse_sequencer(std::string_view text);
std::string make_sequencer(std::string_view name, bool shared, fencing_token token);

/// An HTTP header's value for a token ("Fencing-Token: 33"), and back. Nothing for anything but 1 to 2^63 - 1.
inline constexpr std::string_view fencing_header = "Fencing-Token";
std::optional<fencing_token> parse_token(std::string_view text) noexcept;

}  // namespace interlock::inline v1
