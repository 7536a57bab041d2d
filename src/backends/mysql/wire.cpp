// SPDX-License-Identifier: MIT
#include "backends/mysql/wire.hpp"

#include "backends/sql/survey.hpp"

#include <algorithm>
#include <charconv>

namespace interlock::inline v1::mysql_store {
namespace {

constexpr std::size_t longest_origin = 60'000;  // a blob has room for little more

void put(std::string& to, std::size_t digits, std::uint64_t value) {
  const auto text = std::to_string(value);
  to.append(digits - std::min(digits, text.size()), '0');
  to += text;
}

std::string_view bytes_of(const claim_secret& secret) {
  return {reinterpret_cast<const char*>(secret.bytes().data()), secret.bytes().size()};
}

void write_origin_of(const sql::question& asked, std::string_view own, std::string& to) {
  to.clear();
  if (asked.what != sql::question::verb::enter) return;
  if (asked.about.origin != nullptr)
    to = sql::write_origin(*asked.about.origin);
  else
    to = own;
  to.resize(std::min(to.size(), longest_origin));
}

std::uint64_t natural(milliseconds span) { return static_cast<std::uint64_t>(std::max<std::int64_t>(0, span.count())); }

}  // namespace

ask_parameters::ask_parameters() noexcept {
  for (std::size_t i = 0; i < numbers; ++i) {
    binds_[i].buffer_type = MYSQL_TYPE_LONGLONG;
    binds_[i].buffer = &numbers_[i];
  }
  for (std::size_t i = 0; i < texts; ++i) {
    binds_[numbers + i].buffer_type = MYSQL_TYPE_BLOB;
    binds_[numbers + i].length = &lengths_[i];
  }
}

void ask_parameters::write(std::span<const sql::question* const> asked, std::string_view origin) {
  const auto& first = *asked.front();
  const auto& about = first.about;
  numbers_ = {static_cast<long long>(first.what),
              first.flags,
              about.weight,
              about.capacity,
              about.lease.count(),
              about.wait_lease.count(),
              std::max<std::uint32_t>(about.tokens, 1)};
  write_origin_of(first, origin, origin_);
  more_.clear();
  std::string from;
  for (const auto* one : asked.subspan(1)) {
    const auto& next = one->about;
    write_origin_of(*one, origin, from);
    put(more_, 1, static_cast<std::uint64_t>(one->what));
    put(more_, 2, static_cast<std::uint64_t>(one->flags));
    put(more_, 10, next.weight);
    put(more_, 10, next.capacity);
    put(more_, 12, natural(next.lease));
    put(more_, 12, natural(next.wait_lease));
    put(more_, 10, std::max<std::uint32_t>(next.tokens, 1));
    put(more_, 4, next.name.size());
    put(more_, 5, from.size());
    more_ += bytes_of(next.secret);
    more_ += next.name;
    more_ += from;
  }
  const std::array<std::string_view, texts> all{bytes_of(about.secret), about.name, origin_, more_};
  for (std::size_t i = 0; i < texts; ++i) {
    binds_[numbers + i].buffer = const_cast<char*>(all[i].data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    binds_[numbers + i].buffer_length = lengths_[i] = all[i].size();
  }
}

std::vector<sql::reply> read_replies(std::string_view text) {
  std::vector<sql::reply> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&] {
    std::int64_t value = 0;
    const auto read = std::from_chars(at, end, value);
    at = read.ptr == end ? end : read.ptr + 1;
    return value;
  };
  while (at != end) {
    sql::reply one;
    one.is = static_cast<sql::reply::word>(number());
    one.shared = number() != 0;
    one.token = number();
    one.tokens = number();
    one.ahead = number();
    one.behind = number();
    one.again = number();
    one.seq = number();
    out.push_back(one);
  }
  return out;
}

std::string literal(std::string_view bytes) {
  constexpr auto digits = "0123456789abcdef";
  std::string out = "x'";
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out + "'";
}

}  // namespace interlock::inline v1::mysql_store
