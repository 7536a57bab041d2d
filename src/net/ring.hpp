// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace interlock::inline v1::net {

/// A queue that allocates nothing once it has grown.
template <class T>
class ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& front() noexcept { return all_[first_]; }
  void push(T one) {
    if (count_ == all_.size()) grow();
    all_[place(count_)] = std::move(one);
    ++count_;
  }
  T pop() noexcept {
    T out = std::move(all_[first_]);
    first_ = place(1);
    --count_;
    return out;
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t index) const noexcept { return (first_ + index) & (all_.size() - 1); }
  void grow() {
    std::vector<T> more(all_.empty() ? 16 : 2 * all_.size());  // a power of two
    for (std::size_t i = 0; i < count_; ++i) more[i] = std::move(all_[place(i)]);
    all_ = std::move(more);
    first_ = 0;
  }

  std::vector<T> all_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace interlock::inline v1::net
