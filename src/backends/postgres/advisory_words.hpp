// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/advisory_key.hpp"
#include "backends/postgres/dial.hpp"
#include "backends/sql/session_words.hpp"

#include <memory>
#include <string>
#include <utility>

namespace interlock::inline v1::postgres_store {

/// Advisory locks, in the statements of session.sql.
class advisory_words final : public sql::session_words {
 public:
  advisory_words(const postgres_settings& settings, std::shared_ptr<const postgres_dial> with)
      : rule_(settings.keys), pooled_(settings.sticky_pooler), dial_(std::move(with)) {}

  result<std::string> key_of(std::string_view name) const override;
  statement lock(const std::string& key, bool shared) const override;
  statement unlock(const std::string& key, bool shared) const override;
  statement lock_all(std::span<const wish> wishes) const override;
  statement end_when_silent_for(milliseconds span) const override;
  result<bool> read(const sql::rows& all, std::size_t row) const override;
  std::shared_ptr<sql::errand> show(const std::string& name, const std::string& key,
                                    completion<survey_page> done) const override;
  std::shared_ptr<sql::errand> examine(completion<std::vector<store_check>> done) const override;

 private:
  const key_rule rule_;
  const bool pooled_;
  const std::shared_ptr<const postgres_dial> dial_;
};

}  // namespace interlock::inline v1::postgres_store
