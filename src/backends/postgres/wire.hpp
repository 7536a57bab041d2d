// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/handle.hpp"
#include "backends/sql/question.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::postgres_store {

/// What the prepared statement of all questions says, and the types of its parameters.
inline constexpr std::string_view ask_text =
    "select * from {schema}.{table_ask}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
std::vector<Oid> ask_types();

/// Many questions as the parameters of one call: arrays in PostgreSQL's binary format. Keeps its memory.
class ask_parameters {
 public:
  static constexpr int count = 11;

  /// `channel`: where whoever asks listens. `origin`: of claims that do not name one.
  void write(std::span<const sql::question* const> asked, std::string_view channel, std::string_view origin);

  [[nodiscard]] const char* const* values() const noexcept { return values_; }
  [[nodiscard]] const int* lengths() const noexcept { return lengths_; }
  [[nodiscard]] static const int* formats() noexcept;

 private:
  std::string columns_[count];
  const char* values_[count]{};
  int lengths_[count]{};
};

/// How a bigint goes over the wire.
std::string big_endian(std::uint64_t value);

/// The row of an answer to one question, in binary format.
sql::reply read_reply(const PGresult* rows, int row) noexcept;

}  // namespace interlock::inline v1::postgres_store
