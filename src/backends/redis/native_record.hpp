// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/packet.hpp"
#include "backends/redis/resp.hpp"

#include <interlock/backend.hpp>

#include <optional>
#include <string>
#include <string_view>

/// What the scripts of the native layout are given, and what they answer; native_part_open.lua describes the bytes.
namespace interlock::inline v1::redis_store::native {

inline std::string_view bytes_of(const claim_secret& secret) noexcept {
  return {reinterpret_cast<const char*>(secret.bytes().data()), secret.bytes().size()};
}
/// A claim as enter takes it, as an argument; `origin` says who makes it, in the words of text_of(). Both texts live
/// longer.
class claim_words {
 public:
  claim_words(const claim& who, entry how, std::string_view channel, std::string_view origin) noexcept;
  [[nodiscard]] command_text::pieces pieces() const noexcept {
    return {std::string_view(fixed_.data(), fixed_.size()), channel_, origin_};
  }

 private:
  std::array<char, 51> fixed_;
  std::string_view channel_, origin_;
};
std::string text_of(const claim_origin& origin);
/// A claim as look takes it, and so on.
void add_look(packet& to, const claim& who);
void add_conversion(packet& to, const claim& who, lock_mode mode, std::uint32_t weight, entry how);
void add_eviction(packet& to, const claim_secret& who, bool force);
/// How long a claim that was left finally is remembered, in microseconds.
std::int64_t tomb_micros(const claim& who) noexcept;

/// An answer that no script of ours gives.
inline failure nonsense() { return failure(errc::internal, "the script's answer makes no sense"); }

/// The answers in a script's list, one after the other.
class answers {
 public:
  explicit answers(reply list) noexcept : at_(list.begin()), end_(list.end()) {}

  /// The next one. `name`, if known, is for the words of a failure.
  result<standing> next(std::string_view name = {});

 private:
  std::int64_t number() noexcept;
  std::string_view text() noexcept;

  reply::iterator at_, end_;
};

/// News on our channel. Anybody may have sent it: what is not exactly as we would write it is no news.
struct news {
  bool evicted = false;
  claim_secret whom{};
  standing as{};
};
std::optional<news> read_news(std::string_view payload) noexcept;

/// Who holds `name` and waits for it, from the answer of show.
lock_info read_show(std::string_view name, reply said);
/// Who of them has this handle. The server does not know them: it would have to know our hash.
std::optional<claim_secret> find_shown(reply said, const claim_id& who);

}  // namespace interlock::inline v1::redis_store::native
