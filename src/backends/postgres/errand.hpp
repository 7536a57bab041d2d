// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/handle.hpp"
#include "backends/sql/question.hpp"

#include <interlock/backend.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace interlock::inline v1::postgres_store {

/// What somebody wants of the server: questions about claims, which may travel with those of others; or any other
/// statement, alone.
struct errand {
  using replies_handler = unique_function<void(std::span<const result<sql::reply>>), 12>;
  using rows_handler = unique_function<void(result<const PGresult*>), 12>;

  errand(std::vector<sql::question> asked, replies_handler then)
      : questions(std::move(asked)),
        replies(questions.size(), failure(errc::internal)),
        left(questions.size()),
        replied(std::move(then)) {}
  errand(const char* name, std::vector<std::string> with, rows_handler then)
      : statement(name), parameters(std::move(with)), read(std::move(then)) {}

  [[nodiscard]] bool is_statement() const noexcept { return questions.empty(); }

  std::vector<sql::question> questions{};
  std::vector<result<sql::reply>> replies{};
  std::size_t left = 0;  // without a reply
  replies_handler replied{};

  const char* statement = nullptr;
  std::string text{};                     // instead of a statement's name: it is asked for once, and answered in text
  std::vector<std::string> parameters{};  // in binary format
  rows_handler read{};
};

/// Some questions of an errand, on their way.
struct parcel {
  std::shared_ptr<errand> of{};
  std::size_t first = 0;
  std::size_t count = 0;
  unsigned tries = 0;
  bool alone = false;  // with others, it failed

  /// Answers all of it.
  void fail(const failure& why) {
    if (of->is_statement()) return of->read(why);
    for (std::size_t i = 0; i < count; ++i) of->replies[first + i] = why;
    arrived();
  }
  void arrived() {
    of->left -= count;
    if (of->left == 0) of->replied(of->replies);
  }
};

/// A message, and what came back.
struct flight {
  struct seat {
    std::size_t parcel = 0;
    std::size_t question = 0;  // of the errand
  };
  std::vector<parcel> parcels{};
  std::vector<seat> order{};  // the rows of the answer
  pg_rows rows{};
  pg_rows wrong{};
  instant sent{};
};

/// All of an errand.
inline parcel whole(std::shared_ptr<errand> what) {
  const auto count = what->questions.size();
  return {.of = std::move(what), .count = count};
}

}  // namespace interlock::inline v1::postgres_store
