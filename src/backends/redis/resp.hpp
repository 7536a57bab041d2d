// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// RESP2 and RESP3, the protocol of Redis: replies are parsed in place, without copying.
namespace interlock::inline v1::redis_store {

/// One value of a reply. It, and every text in it, lives until the handler it was given to returns.
class reply {
 public:
  enum class kind : std::uint8_t { nil, text, number, error, boolean, real, list, map, push };

  struct node {
    kind is = kind::nil;
    std::int64_t number = 0;        // number, boolean
    std::uint32_t begin = 0;        // of the text
    std::uint32_t length = 0;       // of the text
    std::uint32_t children = 0;     // direct ones; of a map twice the pairs
    std::uint32_t descendants = 0;  // all, to step over it
  };

  reply() noexcept = default;
  reply(const node* at, const char* bytes) noexcept : at_(at), bytes_(bytes) {}

  [[nodiscard]] kind is() const noexcept { return at_ == nullptr ? kind::nil : at_->is; }
  [[nodiscard]] bool nil() const noexcept { return is() == kind::nil; }
  /// Of a text, an error or a real number, as it was sent; empty otherwise.
  [[nodiscard]] std::string_view text() const noexcept {
    return at_ == nullptr ? std::string_view{} : std::string_view(bytes_ + at_->begin, at_->length);
  }
  /// Of a number or a boolean; 0 otherwise.
  [[nodiscard]] std::int64_t number() const noexcept { return at_ == nullptr ? 0 : at_->number; }
  /// How many values a list, map (keys and values in turn) or push has.
  [[nodiscard]] std::size_t size() const noexcept { return at_ == nullptr ? 0 : at_->children; }
  /// Walks there: for long lists use the iterator. Nil behind the end.
  [[nodiscard]] reply operator[](std::size_t index) const noexcept;

  class iterator {
   public:
    iterator(const node* at, const char* bytes) noexcept : at_(at), bytes_(bytes) {}
    reply operator*() const noexcept { return {at_, bytes_}; }
    iterator& operator++() noexcept {
      at_ += 1 + at_->descendants;
      return *this;
    }
    friend bool operator==(const iterator& left, const iterator& right) noexcept { return left.at_ == right.at_; }

   private:
    const node* at_;
    const char* bytes_;
  };
  [[nodiscard]] iterator begin() const noexcept { return {at_ == nullptr ? nullptr : at_ + 1, bytes_}; }
  [[nodiscard]] iterator end() const noexcept {
    return {at_ == nullptr ? nullptr : at_ + 1 + at_->descendants, bytes_};
  }

 private:
  const node* at_ = nullptr;
  const char* bytes_ = nullptr;
};

/// Reads one reply at a time off the front of a buffer. What a hostile server can make us keep is bounded.
class reply_parser {
 public:
  struct limits {
    std::size_t bytes = std::size_t{64} << 20;  // one reply
    std::size_t values = std::size_t{1} << 20;  // in one reply
    std::size_t depth = 8;
  };
  enum class outcome : std::uint8_t { complete, incomplete, malformed };

  reply_parser() = default;
  explicit reply_parser(limits most) : most_(most) {}

  /// `bytes` begins where a reply begins. Attributes (`|`) are skipped. When incomplete: call again with more.
  outcome parse(std::string_view bytes);
  /// After `complete`: how many bytes it took, and what it says. Lives until the next parse() or the bytes move.
  [[nodiscard]] std::size_t used() const noexcept { return at_; }
  [[nodiscard]] reply value() const noexcept { return {nodes_.data(), bytes_.data()}; }
  /// After `malformed`: what is wrong with it.
  [[nodiscard]] std::string_view wrong() const noexcept { return wrong_; }
  /// After `incomplete`: no use to call again with fewer bytes than this.
  [[nodiscard]] std::size_t needed() const noexcept { return needed_; }

 private:
  bool brief(std::string_view bytes);
  outcome value(std::size_t depth);
  outcome aggregate(reply::kind is, std::size_t per_child, std::size_t depth);
  outcome bulk(reply::kind is);
  outcome line(std::string_view& out);
  outcome number(std::int64_t& out);
  outcome number_value();
  outcome bad(std::string_view why) noexcept;
  outcome more(std::size_t total) noexcept;

  limits most_{};
  std::string_view bytes_{};
  std::size_t at_ = 0;
  std::size_t needed_ = 1;
  std::string_view wrong_{};
  std::vector<reply::node> nodes_;
};

}  // namespace interlock::inline v1::redis_store
