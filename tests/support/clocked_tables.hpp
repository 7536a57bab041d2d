// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/question.hpp"

#include <interlock/backend.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace interlock::test_support {

/// A database's statements, which read the clock by `theirs`, with one that a test moves.
inline std::string with_own_clock(std::string text, std::string_view theirs, std::string_view ours) {
  for (auto at = text.find(theirs); at != text.npos; at = text.find(theirs, at + ours.size()))
    text.replace(at, theirs.size(), ours);
  return text;
}

/// The lock tables of a database, asked one thing at a time: each answer is there before the call returns.
class clocked_tables {
 public:
  void enter(const claim& who, entry how, inline_work, completion<standing> done) {
    answer(sql::to_enter(who, how), std::move(done));
  }
  /// Behind two others, so that the form of several questions is walked too.
  void look(std::span<const claim> whom, inline_work, completion<standings> done) {
    claim nobody;
    nobody.name = "another name, that nobody has asked for";
    std::vector<sql::question> asked{sql::to_look(nobody), sql::to_look(nobody)};
    for (const auto& one : whom) asked.push_back(sql::to_look(one));
    const auto said = ask(asked);
    standings out;
    for (std::size_t i = 2; i < said.size(); ++i) out.push_back(sql::standing_of(asked[i], said[i]));
    done(std::move(out));
  }
  void leave(const claim& who, finality how, inline_work, completion<departure> done) {
    done(sql::departure_of(ask({sql::to_leave(who, how)}).at(0)));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) {
    answer(sql::to_convert(who, mode, weight, how), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) {
    done(ask({sql::to_evict(name, who, force)}).at(0).is == sql::reply::word::yes);
  }

 protected:
  ~clocked_tables() = default;

 private:
  virtual std::vector<sql::reply> ask(const std::vector<sql::question>& what) = 0;
  void answer(const sql::question& asked, completion<standing> done) {
    done(sql::standing_of(asked, ask({asked}).at(0)));
  }
};

}  // namespace interlock::test_support
