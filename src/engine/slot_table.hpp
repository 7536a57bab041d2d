// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace interlock::inline v1::runtime {

/// The names a client knows, found by name. Every request looks for one, and a std::unordered_map divides for each look
/// and hashes again each name it passes by.
class slot_table {
 public:
  slot_table() = default;
  slot_table(const slot_table&) = delete;
  slot_table& operator=(const slot_table&) = delete;
  ~slot_table() {
    erase_if([](const slot&) { return true; });
  }

  [[nodiscard]] slot* find(std::string_view name) const noexcept {
    if (buckets_.empty()) return nullptr;
    const auto hash = hash_of(name);
    auto* one = buckets_[hash & (buckets_.size() - 1)];
    while (one != nullptr && (one->hash != hash || one->full != name)) one = one->next;
    return one;
  }
  /// One that is not there yet.
  slot& add(std::string_view name) {
    if (count_ == buckets_.size()) widen();
    auto made = std::make_unique<slot>();
    made->full = name;
    made->hash = hash_of(name);
    put(*made);
    ++count_;
    return *made.release();
  }
  template <class F>
  void each(F call) {
    for (auto* one : buckets_)
      for (; one != nullptr; one = one->next) call(*one);
  }
  template <class F>
  void erase_if(F unwanted) noexcept {
    for (auto& bucket : buckets_)
      for (auto** link = &bucket; *link != nullptr;) {
        auto* const one = *link;
        if (!unwanted(*one)) {
          link = &one->next;
          continue;
        }
        *link = one->next;
        delete one;
        --count_;
      }
  }

 private:
  static std::size_t hash_of(std::string_view text) noexcept {
    std::uint64_t out = text.size();
    for (; text.size() >= 8; text.remove_prefix(8)) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, text.data(), 8);
      out = mixed(out ^ eight);
    }
    for (const char c : text) out = (out << 8 | out >> 56) ^ static_cast<unsigned char>(c);
    return mixed(out);
  }
  static std::uint64_t mixed(std::uint64_t value) noexcept {
    value *= 0x9e3779b97f4a7c15;
    return value ^ value >> 32;
  }
  void put(slot& one) noexcept { one.next = std::exchange(buckets_[one.hash & (buckets_.size() - 1)], &one); }
  void widen() {
    const auto before = std::exchange(buckets_, std::vector<slot*>(std::max<std::size_t>(64, 2 * buckets_.size())));
    for (auto* one : before)
      while (one != nullptr) put(*std::exchange(one, one->next));
  }

  std::vector<slot*> buckets_;  // as many as a power of two; it owns what it points to
  std::size_t count_ = 0;
};

}  // namespace interlock::inline v1::runtime
