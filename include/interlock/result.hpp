// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/error.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace interlock::inline v1 {

/// A value, or why there is none. Members as in std::expected; value() throws lock_error.
///
/// Never an alias of std::expected: the type must not depend on -std.
template <class T>
class [[nodiscard]] result {
 public:
  using value_type = T;

  result(T value) noexcept : value_(std::move(value)), good_(true) {}
  result(failure why) noexcept : why_(std::move(why)), good_(false) {}
  result(result&& other) noexcept : good_(other.good_) { adopt(std::move(other)); }
  result(const result& other) requires std::is_copy_constructible_v<T> : good_(other.good_) { adopt(other); }
  result& operator=(result other) noexcept {
    destroy();
    good_ = other.good_;
    adopt(std::move(other));
    return *this;
  }
  ~result() { destroy(); }

  [[nodiscard]] bool has_value() const noexcept { return good_; }
  explicit operator bool() const noexcept { return good_; }

  T& value() & { return checked(), value_; }
  const T& value() const& { return checked(), value_; }
  T&& value() && { return checked(), std::move(value_); }

  T& operator*() & noexcept { return value_; }
  const T& operator*() const& noexcept { return value_; }
  T&& operator*() && noexcept { return std::move(value_); }
  T* operator->() noexcept { return std::addressof(value_); }
  const T* operator->() const noexcept { return std::addressof(value_); }

  [[nodiscard]] const failure& error() const noexcept { return why_; }

  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(other));
  }

 private:
  static_assert(std::is_nothrow_move_constructible_v<T>);

  void checked() const {
    if (!good_) throw lock_error(why_);
  }
  template <class Other>
  void adopt(Other&& other) {
    if (good_) [[likely]]
      std::construct_at(std::addressof(value_), std::forward<Other>(other).value_);
    else
      std::construct_at(std::addressof(why_), std::forward<Other>(other).why_);
  }
  void destroy() noexcept {
    if (good_) [[likely]]
      std::destroy_at(std::addressof(value_));
    else
      std::destroy_at(std::addressof(why_));
  }

  // Not a std::variant: results are moved a dozen times per request, and that looks its alternatives up in tables.
  union {
    T value_;      // NOLINT(readability-identifier-naming): private, though it is in a union
    failure why_;  // NOLINT(readability-identifier-naming)
  };
  bool good_;
};

/// Done, or why not.
template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;

  result() noexcept : why_(errc::internal), good_(true) {}
  result(failure why) noexcept : why_(std::move(why)), good_(false) {}

  [[nodiscard]] bool has_value() const noexcept { return good_; }
  explicit operator bool() const noexcept { return good_; }
  void value() const {
    if (!good_) throw lock_error(why_);
  }
  [[nodiscard]] const failure& error() const noexcept { return why_; }

 private:
  failure why_;
  bool good_;
};

}  // namespace interlock::inline v1
