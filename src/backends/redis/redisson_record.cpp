// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_record.hpp"

#include <charconv>

namespace interlock::inline v1::redis_store::redisson {

namespace {

void append(std::string& to, std::string_view part) {
  to += std::to_string(part.size());
  to += ':';
  to += part;
}

/// Takes the text apart from its front; once something is missing, everything after it is, too.
class reader {
 public:
  explicit reader(std::string_view text) : rest_(text) {}

  template <class Number>
  Number number(char end) {
    Number out{};
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    const auto used = static_cast<std::size_t>(read.ptr - rest_.data());
    good_ = good_ && read.ec == std::errc{} && used < rest_.size() && rest_[used] == end;
    rest_ = good_ ? rest_.substr(used + 1) : std::string_view{};
    return out;
  }
  char letter() {
    good_ = good_ && rest_.size() > 1 && rest_[1] == ' ';
    const char out = good_ ? rest_.front() : '\0';
    rest_ = good_ ? rest_.substr(2) : std::string_view{};
    return out;
  }
  std::string part() {
    const auto length = number<std::size_t>(':');
    good_ = good_ && length <= rest_.size();
    std::string out(good_ ? rest_.substr(0, length) : std::string_view{});
    rest_ = good_ ? rest_.substr(length) : std::string_view{};
    return out;
  }
  [[nodiscard]] bool good() const noexcept { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string pack_who(std::string_view client, const claim_origin* origin) {
  static const auto& nobody = *new claim_origin;
  const auto& from = origin == nullptr ? nobody : *origin;
  std::string out;
  out.reserve(client.size() + from.host.size() + from.program.size() + from.purpose.size() + 32);
  append(out, client);
  append(out, std::to_string(from.pid));
  append(out, from.host);
  append(out, from.program);
  append(out, from.purpose);
  return out;
}

std::optional<record> parse_record(std::string_view text) {
  reader from(text);
  record out;
  out.since = from.number<std::int64_t>(' ');
  out.token = from.number<std::uint64_t>(' ');
  out.tokens = from.number<std::uint32_t>(' ');
  out.mode = from.letter() == 's' ? lock_mode::shared : lock_mode::exclusive;
  out.weight = from.number<std::uint32_t>(' ');
  out.client = from.part();
  const auto pid = from.part();
  std::from_chars(pid.data(), pid.data() + pid.size(), out.origin.pid);
  out.origin.host = from.part();
  out.origin.program = from.part();
  out.origin.purpose = from.part();
  if (!from.good()) return {};
  return out;
}

}  // namespace interlock::inline v1::redis_store::redisson
