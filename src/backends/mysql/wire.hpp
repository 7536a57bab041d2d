// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/handle.hpp"
#include "backends/sql/question.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::mysql_store {

/// What the prepared statement of all questions says.
inline constexpr std::string_view ask_text = "call {schema}.{table_ask}(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Many questions as the parameters of one call: the first as they are, the others in one text, as schema.sql has it.
/// Keeps its memory, which Connector/C refers to.
class ask_parameters {
 public:
  ask_parameters() noexcept;
  ask_parameters(const ask_parameters&) = delete;
  ask_parameters& operator=(const ask_parameters&) = delete;

  /// `origin`: of claims that do not name one.
  void write(std::span<const sql::question* const> asked, std::string_view origin);
  /// To be given to the statement once.
  [[nodiscard]] MYSQL_BIND* binds() noexcept { return binds_.data(); }

 private:
  static constexpr std::size_t numbers = 7, texts = 4;

  std::array<MYSQL_BIND, numbers + texts> binds_{};
  std::array<long long, numbers> numbers_{};
  std::array<unsigned long, texts> lengths_{};
  std::string origin_, more_;
};

/// "2 0 17 1 0 0 0 5;3 ...": as many as there are.
std::vector<sql::reply> read_replies(std::string_view text);

/// x'6f72': how SQL writes bytes.
std::string literal(std::string_view bytes);

}  // namespace interlock::inline v1::mysql_store
