// SPDX-License-Identifier: MIT
#include "backends/redis/native_record.hpp"

#include "backends/redis/server_error.hpp"

#include "core/claim_book.hpp"
#include "core/names.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <span>
#include <vector>

namespace interlock::inline v1::redis_store::native {
namespace {

/// Writes numbers and ids at fixed places, to be appended in one piece.
class head {
 public:
  explicit head(std::span<char> room) noexcept : bytes_(room) {}
  template <class N>
  void add(N number) noexcept {
    if constexpr (std::endian::native == std::endian::little)
      std::memcpy(bytes_.data() + size_, &number, sizeof number);
    else
      for (std::size_t i = 0; i < sizeof number; ++i)
        bytes_[size_ + i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
    size_ += sizeof number;
  }
  void add(const std::array<std::byte, 16>& id) noexcept {
    std::memcpy(bytes_.data() + size_, id.data(), id.size());
    size_ += id.size();
  }
  void add(milliseconds time) noexcept { add(static_cast<std::uint64_t>(time.count()) * 1000); }
  [[nodiscard]] std::string_view bytes() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::span<char> bytes_;
  std::size_t size_ = 0;
};

template <class N>
N number_at(std::string_view bytes, std::size_t at) noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof(N); ++i)
    out |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return static_cast<N>(out);
}
std::array<std::byte, 16> bytes_at(std::string_view bytes, std::size_t at) noexcept {
  std::array<std::byte, 16> out{};
  std::memcpy(out.data(), bytes.data() + at, out.size());
  return out;
}

std::uint32_t tokens_of(const claim& who) noexcept {
  return who.mode == lock_mode::shared ? 1 : std::max<std::uint32_t>(who.tokens, 1);
}

std::string called(std::string_view name) { return name.empty() ? "a name" : core::shown_name(name); }

failure other_capacity(std::int64_t capacity, std::string_view name) {
  const auto what = capacity == lock_capacity ? "a lock" : "a semaphore of " + std::to_string(capacity);
  return failure(errc::invalid_argument,
                 called(name) + " is in use as " + what + " and cannot be anything else at the same time");
}

}  // namespace

std::string text_of(const claim_origin& origin) {
  return std::to_string(origin.pid) + '\n' + origin.host + '\n' + origin.program + '\n' + origin.purpose;
}

claim_words::claim_words(const claim& who, entry how, std::string_view channel, std::string_view origin) noexcept
    : channel_(channel), origin_(origin) {
  head out(fixed_);
  out.add(static_cast<std::uint8_t>(who.mode == lock_mode::shared));
  out.add(static_cast<std::uint8_t>(how == entry::queue));
  out.add(tokens_of(who));
  out.add(who.lease);
  out.add(who.wait_lease);
  out.add(who.weight);
  out.add(who.capacity);
  out.add(static_cast<std::uint32_t>(fixed_.size() + channel.size() + origin.size()));
  out.add(who.secret.bytes());
  out.add(static_cast<std::uint8_t>(channel.size()));
}

void add_look(packet& to, const claim& who) {
  std::array<char, 40> room;
  head out(room);
  out.add(who.secret.bytes());
  out.add(who.lease);
  out.add(who.wait_lease);
  out.add(who.tokens);
  to.arg(out.bytes());
}

void add_conversion(packet& to, const claim& who, lock_mode mode, std::uint32_t weight, entry how) {
  std::array<char, 40> room;
  head out(room);
  out.add(who.secret.bytes());
  out.add(static_cast<std::uint8_t>(mode == lock_mode::shared));
  out.add(static_cast<std::uint8_t>(how == entry::queue));
  out.add(weight);
  to.arg(out.bytes());
}

void add_eviction(packet& to, const claim_secret& who, bool force) {
  std::array<char, 40> room;
  head out(room);
  out.add(who.bytes());
  out.add(static_cast<std::uint8_t>(force));
  to.arg(out.bytes());
}

std::int64_t tomb_micros(const claim& who) noexcept { return std::max(who.lease, core::tomb_time).count() * 1000; }

std::int64_t answers::number() noexcept {
  if (at_ == end_) return 0;
  const auto out = (*at_).number();
  ++at_;
  return out;
}

std::string_view answers::text() noexcept {
  if (at_ == end_) return {};
  const auto out = (*at_).text();
  ++at_;
  return out;
}

result<standing> answers::next(std::string_view name) {
  if (at_ == end_) return nonsense();
  if ((*at_).is() == reply::kind::list) {
    const auto one = *at_;
    ++at_;
    return answers(one).next(name);
  }
  if ((*at_).is() != reply::kind::number) return nonsense();
  const auto code = number();
  standing out;
  switch (code) {
    case -1: return other_capacity(number(), name);
    case -2: return server_failure(text());
    case -3:
      return failure(errc::deadlock,
                     "another reader of " + called(name) + " is waiting to upgrade; both would wait for each other");
    case 0: return out;
    case 1: out.reason = standing::cause::evicted; return out;
    default: break;
  }
  if (code < 0 || code > 9) return nonsense();
  out.is = code < 6 ? standing::kind::held : code < 8 ? standing::kind::waiting : standing::kind::busy;
  out.mode = code % 2 != 0 ? lock_mode::shared : lock_mode::exclusive;
  out.token = static_cast<std::uint64_t>(number());
  out.tokens = static_cast<std::uint32_t>(number());
  if (code < 4) return out;
  out.ahead = static_cast<std::uint32_t>(number());
  out.behind = static_cast<std::uint32_t>(number());
  out.look_again_in = milliseconds{number()};
  return out;
}

std::optional<news> read_news(std::string_view payload) noexcept {
  constexpr std::size_t granted_size = 34, evicted_size = 17;
  news out;
  if (payload.size() == evicted_size && payload[0] == 'e') {
    out.evicted = true;
    out.whom = claim_secret(bytes_at(payload, 1));
    return out;
  }
  if (payload.size() != granted_size || payload[0] != 'g' || static_cast<unsigned char>(payload[1]) > 1) return {};
  out.whom = claim_secret(bytes_at(payload, 2));
  out.as.is = standing::kind::held;
  out.as.mode = payload[1] == 1 ? lock_mode::shared : lock_mode::exclusive;
  out.as.token = number_at<std::uint64_t>(payload, 18);
  out.as.tokens = number_at<std::uint32_t>(payload, 26);
  out.as.behind = number_at<std::uint32_t>(payload, 30);
  if (out.as.token == 0 || out.as.tokens == 0) return {};
  return out;
}

namespace {

struct shown_claim {
  std::uint64_t seq;
  bool held;
  claim_info info;
};

void read_origin(std::string_view text, claim_info& into) {
  const auto line = [&] {
    const auto end = text.find('\n');
    const auto one = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return one;
  };
  const auto pid = line();
  std::from_chars(pid.data(), pid.data() + pid.size(), into.pid);
  into.host = line();
  into.program = line();
  into.purpose = text;  // whatever it contains
}

milliseconds whole(std::int64_t micros) { return milliseconds{micros >= 0 ? micros / 1000 : 0}; }

constexpr std::size_t id_in_record = 67;  // native_part_open.lua says what is where

std::optional<shown_claim> read_record(std::string_view record, std::int64_t now, bool lock) {
  constexpr std::size_t fixed = 84;
  if (record.size() < fixed) return {};
  const auto state = static_cast<unsigned char>(record[0]);
  const auto ends = number_at<std::int64_t>(record, 9);
  if (state < 1 || state > 4 || ends < now) return {};
  shown_claim out{number_at<std::uint64_t>(record, 1), state != 1, {}};
  auto& info = out.info;
  if (out.held) {
    info.token = fencing_token(number_at<std::uint64_t>(record, 17));
    info.tokens = number_at<std::uint32_t>(record, 35);
  }
  info.age = whole(now - number_at<std::int64_t>(record, 25));
  info.lease_left = whole(ends - now);
  info.mode = record[33] == 1 ? lock_mode::shared : lock_mode::exclusive;
  info.permits = lock ? 1 : number_at<std::uint32_t>(record, 55);
  info.id = public_id(claim_secret(bytes_at(record, id_in_record)));
  const std::size_t channel = static_cast<unsigned char>(record[83]);
  if (record.size() < fixed + channel) return {};
  read_origin(record.substr(fixed + channel), info);
  return out;
}

}  // namespace

lock_info read_show(std::string_view name, reply said) {
  lock_info out;
  out.name = name;
  auto at = said.begin();
  const auto end = said.end();
  std::vector<std::int64_t> head;
  for (; at != end && head.size() < 2; ++at) head.push_back((*at).number());
  if (head.size() < 2) return out;
  const bool lock = head[1] == lock_capacity;
  out.limit = lock ? 1 : static_cast<std::uint32_t>(head[1]);
  std::vector<shown_claim> all;
  for (; at != end; ++at)
    if (auto one = read_record((*at).text(), head[0], lock)) all.push_back(std::move(*one));
  std::sort(all.begin(), all.end(), [](const auto& left, const auto& right) { return left.seq < right.seq; });
  for (auto& one : all) (one.held ? out.holders : out.waiters).push_back(std::move(one.info));
  return out;
}

std::optional<claim_secret> find_shown(reply said, const claim_id& who) {
  for (const auto one : said) {
    if (one.is() != reply::kind::text || one.text().size() < id_in_record + 16) continue;
    const claim_secret secret(bytes_at(one.text(), id_in_record));
    if (public_id(secret) == who) return secret;
  }
  return {};
}

}  // namespace interlock::inline v1::redis_store::native
