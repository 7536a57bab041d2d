// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/handle.hpp"
#include "backends/mysql/talk.hpp"
#include "backends/mysql/wire.hpp"
#include "backends/sql/objects.hpp"
#include "backends/sql/session.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace interlock::inline v1::mysql_store {

/// Names under which statements are asked for. Of `text` it is the one parameter. Told apart by their addresses, so
/// they are arrays: of a pointer's text every source may have a copy of its own.
inline constexpr char tidy_statement[] = "tidy";
inline constexpr char text_statement[] = "text";
inline constexpr char lock_statement[] = "lock";
inline constexpr char unlock_statement[] = "unlock";

/// A prepared statement with one text as its parameter, of 64 bytes at most, and one short field as its result; not
/// that of questions.
struct prepared {
  const char* name = nullptr;
  my_statement with{};
};

class table final : public sql::rows {
 public:
  explicit table(text_rows of) : rows_(std::move(of)) {}
  std::size_t size() const noexcept override { return rows_.size(); }
  std::string_view field(std::size_t row, std::size_t column) const noexcept override { return rows_[row][column]; }

 private:
  text_rows rows_;
};

/// A session of Connector/C that has its statement prepared: questions are one call of the procedure il_ask, anything
/// else is a text. Every call of the library that may wait is begun, and continued when something has arrived.
class asker final : public sql::session {
 public:
  /// `origin`: of claims that do not name one.
  asker(my_handle with, my_statement ask, const sql::object_names& names, std::string origin);
  /// A session for other statements than questions.
  asker(my_handle with, std::vector<prepared> others);
  asker(const asker&) = delete;
  asker& operator=(const asker&) = delete;
  ~asker() override;

  int socket() const noexcept override { return mysql_get_socket(with_.get()); }
  bool send(const sql::flight& what) override;
  bool flush() noexcept override;
  bool answered() const noexcept override { return stage_ == stage::over || stage_ == stage::broken; }
  progress receive(sql::flight* under_way, std::vector<std::string>& news, patience with = patience::none) override;
  std::string last_words() const override { return words_; }

 private:
  enum class stage { idle, execute, reply, rest, query, rows, more, over, broken };

  template <class Start, class Continue>
  [[nodiscard]] bool step(Start start, Continue go_on);
  void pump();
  void refused(unsigned number, const char* text);
  void read_reply();
  [[nodiscard]] bool send_prepared(const sql::errand& what);
  void send_text(const sql::errand& what);
  void bind_reply();
  void bind_values();
  [[nodiscard]] bool is_open() const noexcept;

  my_handle with_;
  my_statement ask_;  // or none
  std::vector<prepared> others_;
  const std::string tidy_, origin_;
  ask_parameters parameters_;

  stage stage_ = stage::idle;
  int waits_ = 0;  // what the call under way waits for; 0: none is
  int failed_ = 0;
  MYSQL_RES* result_ = nullptr;
  std::string text_;                // of the statement under way
  MYSQL_STMT* executed_ = nullptr;  // the prepared one under way
  std::array<char, 64> value_{};    // its parameter
  unsigned long value_length_ = 0;
  MYSQL_BIND reply_bind_{};
  unsigned long reply_length_ = 0;
  my_bool reply_null_ = 0;
  std::array<char, 24'576> reply_{};

  // what came of the message under way
  std::vector<sql::reply> replies_;
  sql::short_row row_;
  std::unique_ptr<sql::rows> table_;
  std::optional<sql::refusal> wrong_;
  std::string words_;
};

}  // namespace interlock::inline v1::mysql_store
