// SPDX-License-Identifier: MIT
#include "backends/postgres/survey.hpp"

#include "backends/postgres/dial.hpp"
#include "backends/postgres/wire.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace interlock::inline v1::postgres_store {
namespace {

// The first name behind all that begin so; empty: there is none.
std::string behind(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string big_endian(std::uint64_t value) {
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

// Columns as in survey.sql.
claim_info read_claim(const PGresult* rows, int row, bool held, bool is_lock) {
  claim_info out;
  const auto secret = binary_bytes(rows, row, 2);
  std::array<std::byte, 16> raw{};
  std::memcpy(raw.data(), secret.data(), std::min(raw.size(), secret.size()));
  out.id = public_id(claim_secret(raw));
  out.mode = binary_boolean(rows, row, 4) ? lock_mode::shared : lock_mode::exclusive;
  out.permits = is_lock ? 1 : static_cast<std::uint32_t>(binary_integer(rows, row, 5));
  if (held) {
    out.token = fencing_token(static_cast<std::uint64_t>(binary_integer(rows, row, 6)));
    out.tokens = static_cast<std::uint32_t>(binary_integer(rows, row, 7));
  }
  out.age = milliseconds(binary_integer(rows, row, 8));
  out.lease_left = milliseconds(binary_integer(rows, row, 9));
  auto from = read_origin(binary_bytes(rows, row, 10));
  out.host = std::move(from.host);
  out.program = std::move(from.program);
  out.purpose = std::move(from.purpose);
  out.pid = from.pid;
  return out;
}

survey_page read_page(const PGresult* rows, std::size_t most) {
  survey_page out;
  for (int row = 0; row < PQntuples(rows); ++row) {
    const auto name = binary_bytes(rows, row, 0);
    const auto capacity = static_cast<std::uint32_t>(binary_integer(rows, row, 1));
    if (out.locks.empty() || out.locks.back().name != name) {
      if (out.locks.size() == most) {
        out.more = true;
        break;
      }
      out.locks.emplace_back();
      out.locks.back().name = name;
      out.locks.back().limit = capacity == lock_capacity ? 1 : capacity;
    }
    const bool held = binary_boolean(rows, row, 3);
    auto& one = out.locks.back();
    (held ? one.holders : one.waiters).push_back(read_claim(rows, row, held, capacity == lock_capacity));
  }
  return out;
}

}  // namespace

std::shared_ptr<errand> survey_errand(const survey_query& what, completion<survey_page> done) {
  auto from = what.prefix;
  if (!what.after.empty()) from = std::max(from, what.after + '\0');
  const auto before = what.exact ? what.prefix + '\0' : behind(what.prefix);
  const auto most = std::max<std::size_t>(what.most, 1);
  return std::make_shared<errand>(survey_statement,
                                  std::vector<std::string>{std::move(from), before, big_endian(most + 1)},
                                  [most, done = std::move(done)](const result<const PGresult*>& got) mutable {
                                    if (!got) return done(got.error());
                                    done(read_page(*got, most));
                                  });
}

}  // namespace interlock::inline v1::postgres_store
