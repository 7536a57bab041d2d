// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace interlock::inline v1 {

template <class Signature, std::size_t Pointers = 6>
class unique_function;

/// A move-only callable, stored in place up to six pointers (or as many as said): std::function would copy, and
/// allocate on every request.
template <class R, class... Args, std::size_t Pointers>
class unique_function<R(Args...), Pointers> {
 public:
  unique_function() noexcept {}  // NOLINT(modernize-use-equals-default): then {} would zero the room

  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function> && std::is_invocable_r_v<R, F&, Args...>)
  unique_function(F&& f) { put(std::forward<F>(f)); }
  /// F{parts...}, which has to fit, comes into being in place.
  template <class F, class... Parts>
  explicit unique_function(std::in_place_type_t<F>, Parts&&... parts) {
    static_assert(fits<F>, "too large to be kept in place");
    ::new (static_cast<void*>(room_)) F{std::forward<Parts>(parts)...};
    table_ = &in_place<F>;
  }
  unique_function(unique_function&& other) noexcept { take(other); }
  unique_function& operator=(unique_function&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~unique_function() { reset(); }

  /// The same as assigning it, without a move.
  template <class F>
  void emplace(F&& f) {
    reset();
    put(std::forward<F>(f));
  }

  explicit operator bool() const noexcept { return table_ != nullptr; }
  R operator()(Args... args) { return table_->call(room_, std::forward<Args>(args)...); }

 private:
  struct operations {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };
  static constexpr std::size_t room = Pointers * sizeof(void*);
  template <class F>
  static constexpr bool fits = sizeof(F) <= room &&
                               alignof(F) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<F>;

  template <class F>
  static constexpr operations in_place{
      [](void* at, Args&&... args) -> R { return (*static_cast<F*>(at))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        ::new (to) F(std::move(*static_cast<F*>(from)));
        static_cast<F*>(from)->~F();
      },
      [](void* at) noexcept { static_cast<F*>(at)->~F(); }};
  template <class F>
  static constexpr operations on_heap{[](void* at, Args&&... args) -> R {
                                        return (**static_cast<std::unique_ptr<F>*>(at))(std::forward<Args>(args)...);
                                      },
                                      [](void* from, void* to) noexcept {
                                        using pointer = std::unique_ptr<F>;
                                        ::new (to) pointer(std::move(*static_cast<pointer*>(from)));
                                        static_cast<pointer*>(from)->~pointer();
                                      },
                                      [](void* at) noexcept {
                                        using pointer = std::unique_ptr<F>;
                                        static_cast<pointer*>(at)->~pointer();
                                      }};

  template <class F>
  void put(F&& f) {
    using stored = std::remove_cvref_t<F>;
    if constexpr (fits<stored>) {
      ::new (static_cast<void*>(room_)) stored(std::forward<F>(f));
      table_ = &in_place<stored>;
    } else {
      ::new (static_cast<void*>(room_)) std::unique_ptr<stored>(std::make_unique<stored>(std::forward<F>(f)));
      table_ = &on_heap<stored>;
    }
  }
  void take(unique_function& other) noexcept {
    table_ = std::exchange(other.table_, nullptr);
    if (table_ != nullptr) [[likely]]
      table_->move(other.room_, room_);
  }
  void reset() noexcept {
    if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(room_);
  }

  const operations* table_ = nullptr;  // first: beside what is used with it, however much room there is
  alignas(std::max_align_t) std::byte room_[room];
};

}  // namespace interlock::inline v1
