// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/dial.hpp"
#include "backends/mysql/user_lock_key.hpp"
#include "backends/sql/session_words.hpp"

#include <memory>
#include <string>
#include <utility>

namespace interlock::inline v1::mysql_store {

/// GET_LOCK and RELEASE_LOCK.
class user_lock_words final : public sql::session_words {
 public:
  user_lock_words(key_rule rule, std::shared_ptr<const mysql_dial> with) : rule_(rule), dial_(std::move(with)) {}

  result<std::string> key_of(std::string_view name) const override { return user_lock_key(name, rule_); }
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
  const std::shared_ptr<const mysql_dial> dial_;
};

}  // namespace interlock::inline v1::mysql_store
