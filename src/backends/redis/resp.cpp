// SPDX-License-Identifier: MIT
#include "backends/redis/resp.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace interlock::inline v1::redis_store {

using kind = reply::kind;

namespace {

// The value of eight digits; -1 if one of them is none. All are worked on at once, as bytes of one number.
std::int64_t eight_digits(const char* at) noexcept {
  if constexpr (std::endian::native != std::endian::little) return -1;
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  std::uint64_t text = 0;
  std::memcpy(&text, at, sizeof text);
  auto all = text - 0x3030303030303030;
  if (((text + 0x4646464646464646) | all) & high_bits) return -1;
  all = all * 10 + (all >> 8);  // two digits each
  constexpr std::uint64_t pair = 0x000000ff000000ff;
  all = ((all & pair) * 0x000f424000000064 + ((all >> 16) & pair) * 0x0000271000000001) >> 32;
  return static_cast<std::int64_t>(all);
}

}  // namespace

reply reply::operator[](std::size_t index) const noexcept {
  if (index >= size()) return {};
  auto at = begin();
  while (index-- > 0) ++at;
  return *at;
}

reply_parser::outcome reply_parser::bad(std::string_view why) noexcept {
  wrong_ = why;
  return outcome::malformed;
}

reply_parser::outcome reply_parser::more(std::size_t total) noexcept {
  if (total > most_.bytes) return bad("a reply is too long");
  needed_ = total;
  return outcome::incomplete;
}

reply_parser::outcome reply_parser::parse(std::string_view bytes) {
  bytes_ = bytes;
  at_ = 0;
  needed_ = 1;
  nodes_.clear();
  return brief(bytes) ? outcome::complete : value(0);
}

// What most requests are answered with: a digit, or that all is well.
bool reply_parser::brief(std::string_view bytes) {
  if (bytes.size() < 4) return false;
  if (bytes[0] == ':' && bytes[2] == '\r' && bytes[3] == '\n' && bytes[1] >= '0' && bytes[1] <= '9') {
    nodes_.push_back({.is = kind::number, .number = bytes[1] - '0'});
    at_ = 4;
    return true;
  }
  constexpr std::string_view well = "+OK\r\n";
  if (!bytes.starts_with(well)) return false;
  nodes_.push_back({.is = kind::text, .begin = 1, .length = 2});
  at_ = well.size();
  return true;
}

// Up to the line's end, which is stepped over.
reply_parser::outcome reply_parser::line(std::string_view& out) {
  const auto* const from = bytes_.data() + at_;
  const auto left = bytes_.size() - at_;
  const auto* const end = static_cast<const char*>(left == 0 ? nullptr : std::memchr(from, '\r', left));
  if (end == nullptr || end + 1 == bytes_.data() + bytes_.size()) return more(bytes_.size() + 1);
  if (end[1] != '\n') return bad("a line does not end with CR LF");
  out = {from, static_cast<std::size_t>(end - from)};
  at_ += out.size() + 2;
  return outcome::complete;
}

reply_parser::outcome reply_parser::number(std::int64_t& out) {
  const auto* const from = bytes_.data() + at_;
  const auto left = bytes_.size() - at_;
  if (left >= 3 && from[1] == '\r' && from[2] == '\n' && from[0] >= '0' && from[0] <= '9') {
    out = from[0] - '0';
    at_ += 3;
    return outcome::complete;
  }
  // Nearly all others: so few digits that they cannot be too many, and the line's end.
  constexpr std::size_t few = 18;
  const auto* const most = from + std::min(few, left);
  const auto* at = from;
  std::int64_t value = 0;
  for (std::int64_t more = 0; most - at >= 8 && (more = eight_digits(at)) >= 0; at += 8)
    value = 100'000'000 * value + more;
  for (unsigned digit = 0; at != most && (digit = static_cast<unsigned>(*at - '0')) < 10; ++at)
    value = 10 * value + digit;
  if (at != from && bytes_.data() + bytes_.size() - at >= 2 && at[0] == '\r' && at[1] == '\n') {
    out = value;
    at_ += static_cast<std::size_t>(at - from) + 2;
    return outcome::complete;
  }
  std::string_view digits;
  if (const auto got = line(digits); got != outcome::complete) return got;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (wrong != std::errc{} || end != digits.data() + digits.size() || digits.empty()) return bad("a number is none");
  return outcome::complete;
}

reply_parser::outcome reply_parser::number_value() {
  std::int64_t value = 0;
  if (const auto got = number(value); got != outcome::complete) return got;
  nodes_.push_back({.is = kind::number, .number = value});
  return outcome::complete;
}

reply_parser::outcome reply_parser::bulk(kind is) {
  std::int64_t length = 0;
  if (const auto got = number(length); got != outcome::complete) return got;
  auto& made = nodes_.emplace_back();
  if (length == -1) return outcome::complete;  // RESP2's nil
  if (length < 0 || static_cast<std::uint64_t>(length) > most_.bytes) return bad("a text's length is out of bounds");
  const auto size = static_cast<std::size_t>(length);
  if (bytes_.size() - at_ < size + 2) return more(at_ + size + 2);
  if (bytes_[at_ + size] != '\r' || bytes_[at_ + size + 1] != '\n') return bad("a text does not end with CR LF");
  made.is = is;
  made.begin = static_cast<std::uint32_t>(at_);
  made.length = static_cast<std::uint32_t>(size);
  at_ += size + 2;
  return outcome::complete;
}

reply_parser::outcome reply_parser::aggregate(kind is, std::size_t per_child, std::size_t depth) {
  std::int64_t count = 0;
  if (const auto got = number(count); got != outcome::complete) return got;
  const auto mine = nodes_.size();
  nodes_.emplace_back();
  if (count == -1) return outcome::complete;  // RESP2's nil
  if (count < 0 || static_cast<std::uint64_t>(count) > most_.values) return bad("a list's length is out of bounds");
  if (depth >= most_.depth) return bad("lists are nested too deeply");
  const auto children = static_cast<std::size_t>(count) * per_child;
  for (std::size_t i = 0; i < children; ++i) {
    if (nodes_.size() > most_.values) return bad("a reply has too many values");
    if (at_ < bytes_.size() && at_ <= most_.bytes && bytes_[at_] == ':') {  // what most lists are made of
      ++at_;
      if (const auto got = number_value(); got != outcome::complete) return got;
      continue;
    }
    if (const auto got = value(depth + 1); got != outcome::complete) return got;
  }
  auto& made = nodes_[mine];
  made.is = is;
  made.children = static_cast<std::uint32_t>(children);
  made.descendants = static_cast<std::uint32_t>(nodes_.size() - mine - 1);
  return outcome::complete;
}

reply_parser::outcome reply_parser::value(std::size_t depth) {
  if (at_ > most_.bytes) return bad("a reply is too long");
  if (at_ == bytes_.size()) return more(at_ + 1);
  const auto text = [&](kind is) {
    std::string_view words;
    const auto got = line(words);
    if (got != outcome::complete) return got;
    auto& made = nodes_.emplace_back();
    made.is = is;
    made.begin = static_cast<std::uint32_t>(words.data() - bytes_.data());
    made.length = static_cast<std::uint32_t>(words.size());
    return got;
  };
  switch (bytes_[at_++]) {
    case '+': return text(kind::text);
    case '-': return text(kind::error);
    case ',': return text(kind::real);
    case '(': return text(kind::text);  // a number too big for 64 bits: its digits
    case ':': return number_value();
    case '#': {
      std::string_view word;
      if (const auto got = line(word); got != outcome::complete) return got;
      if (word != "t" && word != "f") return bad("a boolean is neither t nor f");
      auto& made = nodes_.emplace_back();
      made.is = kind::boolean;
      made.number = word == "t" ? 1 : 0;
      return outcome::complete;
    }
    case '_': {
      std::string_view nothing;
      if (const auto got = line(nothing); got != outcome::complete) return got;
      nodes_.emplace_back();
      return outcome::complete;
    }
    case '$': return bulk(kind::text);
    case '!': return bulk(kind::error);
    case '=': {  // "txt:" or "mkd:" in front of a text
      if (const auto got = bulk(kind::text); got != outcome::complete) return got;
      auto& made = nodes_.back();
      if (made.length < 4) return bad("a verbatim text has no format");
      made.begin += 4;
      made.length -= 4;
      return outcome::complete;
    }
    case '*':
    case '~': return aggregate(kind::list, 1, depth);
    case '%': return aggregate(kind::map, 2, depth);
    case '>': return depth == 0 ? aggregate(kind::push, 1, depth) : bad("a push inside a reply");
    case '|': {  // attributes: nothing we have asked for, and the value comes behind them
      const auto mine = nodes_.size();
      if (const auto got = aggregate(kind::map, 2, depth); got != outcome::complete) return got;
      nodes_.resize(mine);
      if (depth >= most_.depth) return bad("lists are nested too deeply");
      return value(depth + 1);
    }
    default: return bad("a reply begins with an unknown character");
  }
}

}  // namespace interlock::inline v1::redis_store
