// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/handle.hpp"
#include "backends/postgres/wire.hpp"
#include "backends/sql/session.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace interlock::inline v1::postgres_store {

class result_rows final : public sql::rows {
 public:
  explicit result_rows(pg_rows of) : rows_(std::move(of)) {}
  std::size_t size() const noexcept override { return static_cast<std::size_t>(PQntuples(rows_.get())); }
  std::string_view field(std::size_t row, std::size_t column) const noexcept override {
    const int r = static_cast<int>(row), c = static_cast<int>(column);
    return {PQgetvalue(rows_.get(), r, c), static_cast<std::size_t>(PQgetlength(rows_.get(), r, c))};
  }

 private:
  pg_rows rows_;
};

/// A session of libpq that has all statements prepared.
class asker final : public sql::session {
 public:
  asker(pg_handle with, std::string channel, std::string origin)
      : with_(std::move(with)), channel_(std::move(channel)), origin_(std::move(origin)) {}
  /// From now on receive() can wait. For small messages only: sending may wait a moment, too.
  void be_patient() noexcept;

  int socket() const noexcept override { return PQsocket(with_.get()); }
  bool send(const sql::flight& what) override;
  bool flush() noexcept override { return PQflush(with_.get()) == 1; }
  bool is_patient() const noexcept override { return patient_; }
  progress receive(sql::flight* under_way, std::vector<std::string>& news, patience with = patience::none) override;
  std::string last_words() const override;

 private:
  bool send_statement(const sql::errand& what);
  [[nodiscard]] bool can_read() const noexcept;
  [[nodiscard]] bool take(sql::flight& under_way);
  void conclude(sql::flight& under_way);

  pg_handle with_;
  const std::string channel_, origin_;
  ask_parameters parameters_;
  pg_rows rows_, wrong_;  // of the message under way
  bool patient_ = false;
};

}  // namespace interlock::inline v1::postgres_store
