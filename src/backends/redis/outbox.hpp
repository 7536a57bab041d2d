// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/courier.hpp"

#include <interlock/clock.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Requests in the order they were made: bytes still to be sent, and sent ones that wait for their reply. A request's
/// bytes are kept until then, so that it can be sent again elsewhere. Allocates nothing once it has grown.
class outbox {
 public:
  struct about {
    const script* called = nullptr;
    instant sent{};
    unsigned hops = 0;     // how often it was sent elsewhere before
    bool by_push = false;  // answered by a push
  };
  struct request : about {
    reply_handler done{};
    std::uint64_t begin = 0;  // where its bytes begin, counted from the connection's first
    std::uint64_t end = 0;
  };

  void push(const about& what, std::string_view bytes, reply_handler done) {
    const auto count = size();
    if (count == ring_.size()) grow();
    auto& one = ring_[(first_ + count) & (ring_.size() - 1)];
    count_.store(count + 1, std::memory_order_relaxed);
    static_cast<about&>(one) = what;
    one.done = std::move(done);
    one.begin = end();
    bytes_.append(bytes);
    one.end = end();
  }
  /// These two may be asked at any time; whoever does so while others use it is told how it was a moment ago.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] const request& front() const noexcept { return ring_[first_]; }
  [[nodiscard]] const request& back() const noexcept { return ring_[(first_ + size() - 1) & (ring_.size() - 1)]; }
  [[nodiscard]] std::string_view bytes_of(const request& one) const noexcept {
    return std::string_view(bytes_).substr(one.begin - base_, one.end - one.begin);
  }
  /// Takes the oldest one out. Its bytes stay until the next push().
  request pop() noexcept {
    request out = std::move(ring_[first_]);
    first_ = (first_ + 1) & (ring_.size() - 1);
    count_.store(size() - 1, std::memory_order_relaxed);
    done_ = out.end;
    return out;
  }

  [[nodiscard]] std::string_view unsent() const noexcept {
    return std::string_view(bytes_).substr(static_cast<std::size_t>(sent_ - base_));
  }
  void sent(std::size_t more) noexcept { sent_ += more; }
  [[nodiscard]] bool was_sent(const request& one) const noexcept { return one.begin < sent_; }

  /// Forgets the bytes of answered requests; called when nobody looks at them.
  void tidy() noexcept {
    const auto over = static_cast<std::size_t>(done_ - base_);
    if (done_ == end() && sent_ == done_) {
      bytes_.clear();
      base_ = done_;
    } else if (over > 64 * 1024 && over > bytes_.size() / 2) {
      bytes_.erase(0, over);
      base_ = done_;
    }
  }

 private:
  [[nodiscard]] std::uint64_t end() const noexcept { return base_ + bytes_.size(); }
  void grow() {
    std::vector<request> bigger(ring_.empty() ? 64 : ring_.size() * 2);
    for (std::size_t i = 0; i < size(); ++i) bigger[i] = std::move(ring_[(first_ + i) & (ring_.size() - 1)]);
    ring_ = std::move(bigger);
    first_ = 0;
  }

  std::vector<request> ring_;  // its size is a power of two
  std::size_t first_ = 0;
  std::atomic<std::size_t> count_{0};
  std::string bytes_;
  std::uint64_t base_ = 0;  // where bytes_ begins
  std::uint64_t sent_ = 0;
  std::uint64_t done_ = 0;  // answered up to here
};

}  // namespace interlock::inline v1::redis_store
