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

/// The name under which the statement that removes old rows is asked for.
inline constexpr const char* tidy_statement = "tidy";

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
  asker(const asker&) = delete;
  asker& operator=(const asker&) = delete;
  ~asker() override;

  int socket() const noexcept override { return mysql_get_socket(with_.get()); }
  bool send(const sql::flight& what) override;
  bool flush() noexcept override;
  bool answered() const noexcept override { return stage_ == stage::over || stage_ == stage::broken; }
  progress receive(sql::flight* under_way, std::vector<std::string>& news) override;
  std::string last_words() const override { return words_; }

 private:
  enum class stage { idle, execute, reply, rest, query, rows, more, over, broken };

  template <class Start, class Continue>
  [[nodiscard]] bool step(Start start, Continue go_on);
  void pump();
  void refused(unsigned number, const char* text);
  void read_reply();
  [[nodiscard]] bool is_open() const noexcept;

  my_handle with_;
  my_statement ask_;
  const std::string tidy_, origin_;
  ask_parameters parameters_;

  stage stage_ = stage::idle;
  int waits_ = 0;  // what the call under way waits for; 0: none is
  int failed_ = 0;
  MYSQL_RES* result_ = nullptr;
  std::string text_;  // of the statement under way
  std::array<char, 24'576> reply_{};
  unsigned long reply_length_ = 0;
  MYSQL_BIND reply_bind_{};

  // what came of the message under way
  std::vector<sql::reply> replies_;
  std::unique_ptr<table> table_;
  std::optional<sql::refusal> wrong_;
  std::string words_;
};

}  // namespace interlock::inline v1::mysql_store
