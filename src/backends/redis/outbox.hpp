// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/command_text.hpp"
#include "backends/redis/courier.hpp"

#include <interlock/clock.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace interlock::inline v1::redis_store {

/// Requests in the order they were made: bytes still to be sent, and sent ones that wait for their reply. A request's
/// bytes are kept until then, so that it can be sent again elsewhere. Allocates nothing once it has grown.
///
/// Requests that may be carried out together, and have come together, become one call: a *bundle*. A server spends more
/// on beginning a script than on what a lock needs of it.
class outbox {
 public:
  struct about {
    const script* called = nullptr;
    instant sent{};
    unsigned hops = 0;     // how often it was sent elsewhere before
    bool by_push = false;  // answered by a push
    bool fence = false;    // see connection::leave_shard()
  };
  struct request : about {
    std::uint32_t bundle = 1;  // of the first in a bundle: how many there are
    std::uint64_t begin = 0;   // where its bytes begin, counted from the connection's first
    std::uint64_t end = 0;     // of a bundle each request has all bytes
    reply_handler done{};
  };
  /// Its handler is called where it is: moving it would cost as much as a good part of what it does.
  using pointer = std::unique_ptr<request>;

  void push(const about& what, std::string_view bytes, reply_handler&& done) {
    close();
    auto& one = add(what, std::move(done));
    append(one, bytes);
  }
  void push(const about& what, const short_call& call, reply_handler&& done) {
    close();
    auto& one = add(what, std::move(done));
    head_.clear();
    head_.append(call.called->usual_head);
    head_.argument(call.key);
    head_.argument(call.argument);
    append(one, head_.view());
  }
  /// May wait for others like it, until close().
  void join(const about& what, const part_of_bundle& part, reply_handler&& done) {
    open(part.all, part.keys, part.head);
    add(what, std::move(done));
    keys_.append(part.key_bytes);
    arguments_.append(part.argument_bytes);
    ++open_;
  }
  void join(const about& what, const short_call& call, reply_handler&& done) {
    open(call.all, 1, call.called->usual_head);
    add(what, std::move(done));
    keys_.argument(call.key);
    arguments_.argument(call.argument);
    ++open_;
  }
  /// What may be carried out together is one request now, and nothing joins it any more.
  void close() {
    if (open_ == 0) return;
    const auto count = std::exchange(open_, 0);
    auto& first = at(size() - count);
    if (count > 1) {
      first.called = all_;
      first.bundle = count;
      head_.clear();
      head_.header(3 + count * (keys_each_ + 1));
      head_.append(all_->call);
      head_.argument(static_cast<std::int64_t>(count * keys_each_));
    }
    if (is_known(first.called)) {
      append_bytes(first, {head_.view(), keys_.view(), arguments_.view()});
    } else {
      head_.append(keys_.view());
      head_.append(arguments_.view());
      append(first, head_.view());
    }
    for (auto i = size() - count; i < size(); ++i) {
      at(i).begin = first.begin;
      at(i).end = first.end;
    }
  }
  /// A bundle that was taken out once more, with other bytes.
  void push_again(std::span<pointer> bundle, std::string_view bytes) {
    close();
    const auto begin = end();
    bytes_.append(bytes);
    for (auto& one : bundle) {
      one->begin = begin;
      one->end = end();
      add(std::move(one));
    }
  }

  /// These two may be asked at any time; whoever does so while others use it is told how it was a moment ago.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
  [[nodiscard]] const request& front() const noexcept { return *ring_[first_]; }
  [[nodiscard]] const request& back() const noexcept { return *ring_[place(size() - 1)]; }
  [[nodiscard]] std::string_view bytes_of(const request& one) const noexcept {
    return std::string_view(bytes_).substr(one.begin - base_, one.end - one.begin);
  }
  /// Takes the oldest one out. Its bytes stay until the next push().
  pointer pop() noexcept {
    auto out = std::move(ring_[first_]);
    first_ = place(1);
    count_.store(size() - 1, std::memory_order_relaxed);
    done_ = out->end;
    return out;
  }
  /// The same with a bundle, or whatever the oldest one is.
  void pop_bundle(std::vector<pointer>& to) {
    for (auto left = front().bundle; left > 0; --left) to.push_back(pop());
  }
  /// They have been answered; their memory is for others.
  void recycle(std::vector<pointer>& answered) {
    for (auto& one : answered) spare_.push_back(std::move(one));
    answered.clear();
  }

  [[nodiscard]] std::string_view unsent() const noexcept {
    return std::string_view(bytes_).substr(static_cast<std::size_t>(sent_ - base_));
  }
  /// Open bundles included.
  [[nodiscard]] std::size_t unsent_size() const noexcept {
    return unsent().size() + (open_ == 0 ? 0 : keys_.size() + arguments_.size());
  }
  void sent(std::size_t more) noexcept { sent_ += more; }
  /// How far, in bytes from the connection's first.
  [[nodiscard]] std::uint64_t sent_to() const noexcept { return sent_; }
  [[nodiscard]] bool was_sent(const request& one) const noexcept { return one.begin < sent_; }

  /// Its text was sent on this connection.
  [[nodiscard]] bool is_known(const script* what) const noexcept {
    return std::find(known_.begin(), known_.end(), what) != known_.end();
  }

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
  // More would keep the server from others for longer than it saves.
  static constexpr std::uint32_t bundle_most = 32;

  [[nodiscard]] std::uint64_t end() const noexcept { return base_ + bytes_.size(); }
  [[nodiscard]] std::size_t place(std::size_t index) const noexcept { return (first_ + index) & (ring_.size() - 1); }
  [[nodiscard]] request& at(std::size_t index) noexcept { return *ring_[place(index)]; }
  // There is a bundle that one more may join. `head`: how it begins if it stays alone.
  void open(const script* all, std::size_t keys_each, std::string_view head) {
    if (open_ > 0 && (open_ == bundle_most || all != all_ || keys_each != keys_each_)) close();
    if (open_ > 0) return;
    all_ = all;
    keys_each_ = keys_each;
    head_.clear();
    head_.append(head);
    keys_.clear();
    arguments_.clear();
  }
  request& add(const about& what, reply_handler&& done) {
    pointer made;
    if (spare_.empty()) {
      made = std::make_unique<request>();
    } else {
      made = std::move(spare_.back());
      spare_.pop_back();
    }
    static_cast<about&>(*made) = what;
    made->done = std::move(done);
    made->begin = made->end = end();
    made->bundle = 1;
    return add(std::move(made));
  }
  request& add(pointer made) {
    const auto count = size();
    if (count == ring_.size()) grow();
    count_.store(count + 1, std::memory_order_relaxed);
    return *(ring_[place(count)] = std::move(made));
  }
  // The first call of a script brings its text, whether the server knows it or not: were it refused and sent again,
  // requests made after it would be carried out before it.
  void append(request& one, std::string_view bytes) {
    const bool known = one.called == nullptr || is_known(one.called);
    if (!known) known_.push_back(one.called);
    if (!known && calls_by_name(bytes))
      append_bytes(one, {with_text(bytes, *one.called)});
    else
      append_bytes(one, {bytes});
  }
  void append_bytes(request& one, std::initializer_list<std::string_view> pieces) {
    one.begin = end();
    for (const auto piece : pieces) bytes_.append(piece);
    one.end = end();
  }
  void grow() {
    std::vector<pointer> bigger(ring_.empty() ? 64 : ring_.size() * 2);
    for (std::size_t i = 0; i < size(); ++i) bigger[i] = std::move(ring_[place(i)]);
    ring_ = std::move(bigger);
    first_ = 0;
  }

  std::vector<pointer> ring_;  // its size is a power of two
  std::vector<pointer> spare_;
  std::size_t first_ = 0;
  std::atomic<std::size_t> count_{0};
  std::string bytes_;
  std::uint64_t base_ = 0;  // where bytes_ begins
  std::uint64_t sent_ = 0;
  std::uint64_t done_ = 0;            // answered up to here
  std::vector<const script*> known_;  // their text was sent on this connection

  std::uint32_t open_ = 0;  // so many, the last ones, are a bundle that others may still join
  const script* all_ = nullptr;
  std::size_t keys_each_ = 0;
  command_text head_, keys_, arguments_;
};

}  // namespace interlock::inline v1::redis_store
