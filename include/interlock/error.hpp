// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace interlock::inline v1 {

/// Named by what the caller does next. The numbers are for ever: they stand in logs and in other people's code.
enum class errc : int {
  busy = 1,               ///< somebody else had it until the wait ran out: queue again, or leave
  cancelled = 2,          ///< your stop_token fired; nothing is left in the store
  lost = 3,               ///< it was held (or queued for) and is not any more: stop working
  unavailable = 4,        ///< the store could not be asked; nothing happened; retrying is safe
  indeterminate = 5,      ///< asked, no answer: it may have happened; interlock undoes it in the background
  conflict = 6,           ///< somebody changed the value first: read again
  deadlock = 7,           ///< waiting could never end: let go of what you hold, start over
  closed = 8,             ///< this client was closed, or belongs to the parent process: open another
  unsupported = 9,        ///< this store, as found, cannot do that or promise that
  invalid_argument = 10,  ///< a bug at the call site
  denied = 11,            ///< credentials or permissions
  internal = 12,          ///< a bug in interlock; please report
};

/// The category of interlock's codes. `errc::busy == std::errc::device_or_resource_busy`, and so on where the standard
/// has a word for it.
const std::error_category& category() noexcept;
std::error_code make_error_code(errc code) noexcept;

/// The code's own name, as in the enumeration: "busy", "indeterminate".
std::string_view to_string(errc code) noexcept;

/// What went wrong, with context: the store, the lock's name, what we were doing, the store's own words.
///
/// Copying never throws. Secrets never get in here.
///
/// Results of all kinds have room for one and hardly ever have one, so what it takes to keep its words is out of their
/// way; and whoever makes one with words is, to the compiler, on a path that is not taken often.
class failure {
 public:
  explicit failure(errc code) noexcept : code_(code) {}
  [[gnu::cold]] explicit failure(errc code, std::string_view text);
  failure(const failure& other) noexcept : code_(other.code_), words_(other.words_) {
    if (words_ != nullptr) [[unlikely]]
      share();
  }
  failure(failure&& other) noexcept : code_(other.code_), words_(std::exchange(other.words_, nullptr)) {}
  failure& operator=(failure other) noexcept {
    code_ = other.code_;
    std::swap(words_, other.words_);
    return *this;
  }
  ~failure() {
    if (words_ != nullptr) [[unlikely]]
      drop();
  }

  [[nodiscard]] std::error_code code() const noexcept { return make_error_code(code_); }
  [[nodiscard]] errc kind() const noexcept { return code_; }
  [[nodiscard]] const std::string& message() const noexcept;

  friend bool operator==(const failure& left, errc right) noexcept { return left.code_ == right; }

 private:
  struct words;
  [[gnu::cold]] void share() const noexcept;
  [[gnu::cold]] void drop() noexcept;

  errc code_;
  words* words_ = nullptr;  // shared by all copies; nothing, if there are none
};

/// Thrown by the throwing verbs; is a std::system_error, so `catch (const std::system_error&)` sees it too.
class lock_error : public std::system_error {
 public:
  explicit lock_error(failure why);
  [[nodiscard]] const failure& why() const noexcept { return why_; }

 private:
  failure why_;
};

}  // namespace interlock::inline v1

template <>
struct std::is_error_code_enum<interlock::errc> : std::true_type {};
