// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/errand.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::sql {

/// How a database speaks of locks that belong to a session: advisory locks, user locks. Statements are prepared by
/// whoever dials.
class session_words {
 public:
  struct statement {
    const char* name = nullptr;
    sql::parameters parameters{};
  };
  /// One of several locks that are tried together. No key: it is held already, and shown to be still ours.
  struct wish {
    const std::string* key = nullptr;
    bool shared = false;
  };

  virtual ~session_words() = default;

  /// What the server calls it; several names may have one key. A failure: such a name cannot be locked.
  [[nodiscard]] virtual result<std::string> key_of(std::string_view name) const = 0;
  [[nodiscard]] virtual statement lock(const std::string& key, bool shared) const = 0;  ///< without waiting
  [[nodiscard]] virtual statement unlock(const std::string& key, bool shared) const = 0;
  [[nodiscard]] virtual statement lock_all(std::span<const wish> wishes) const = 0;  ///< a row for each, in order
  /// From now on the server ends this session when it has said nothing for so long.
  [[nodiscard]] virtual statement end_when_silent_for(milliseconds span) const = 0;
  /// What a row of these says: yes or no. `unsupported`: it is not our session's answer.
  [[nodiscard]] virtual result<bool> read(const rows& all, std::size_t row) const = 0;

  [[nodiscard]] virtual std::shared_ptr<errand> show(const std::string& name, const std::string& key,
                                                     completion<survey_page> done) const = 0;
  [[nodiscard]] virtual std::shared_ptr<errand> examine(completion<std::vector<store_check>> done) const = 0;
};

}  // namespace interlock::inline v1::sql
