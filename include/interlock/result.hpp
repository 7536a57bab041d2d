// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/error.hpp>

#include <type_traits>
#include <utility>
#include <variant>

namespace interlock::inline v1 {

/// A value, or why there is none. Members as in std::expected; value() throws lock_error.
///
/// Never an alias of std::expected: the type must not depend on -std.
template <class T>
class [[nodiscard]] result {
 public:
  using value_type = T;

  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(failure why) noexcept : state_(std::in_place_index<1>, std::move(why)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return checked(), *std::get_if<0>(&state_); }
  const T& value() const& { return checked(), *std::get_if<0>(&state_); }
  T&& value() && { return checked(), std::move(*std::get_if<0>(&state_)); }

  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  [[nodiscard]] const failure& error() const noexcept { return *std::get_if<1>(&state_); }

  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(other));
  }

 private:
  void checked() const {
    if (!has_value()) throw lock_error(error());
  }
  std::variant<T, failure> state_;
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
