// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/question.hpp"

#include <interlock/backend.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::sql {

/// What a statement returned.
class rows {
 public:
  virtual ~rows() = default;
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// Its bytes, as the statement's format has them; empty for NULL.
  [[nodiscard]] virtual std::string_view field(std::size_t row, std::size_t column) const noexcept = 0;
};

/// One short field, or nothing: what most statements return. Needs no memory of its own.
class short_row final : public rows {
 public:
  /// What is too long counts as NULL.
  void set(std::string_view field) noexcept {
    length_ = static_cast<std::uint8_t>(field.size() <= bytes_.size() ? field.copy(bytes_.data(), bytes_.size()) : 0);
    there_ = true;
  }
  void clear() noexcept { there_ = false; }
  std::size_t size() const noexcept override { return there_ ? 1 : 0; }
  std::string_view field(std::size_t, std::size_t) const noexcept override { return {bytes_.data(), length_}; }

 private:
  std::array<char, 30> bytes_{};
  std::uint8_t length_ = 0;
  bool there_ = false;
};

/// The parameters of a statement, in its format: few, and one behind the other.
class parameters {
 public:
  static constexpr std::size_t most = 3;

  parameters() = default;
  parameters(std::initializer_list<std::string_view> all) {
    for (const auto& one : all) add(one);
  }
  parameters(const std::vector<std::string>& all) {
    for (const auto& one : all) add(one);
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::string_view operator[](std::size_t which) const noexcept {
    const auto begin = which == 0 ? 0 : ends_[which - 1];
    return std::string_view(bytes_).substr(begin, ends_[which] - begin);
  }

 private:
  void add(std::string_view one) {
    bytes_ += one;
    ends_[count_++] = bytes_.size();
  }

  std::string bytes_{};
  std::array<std::size_t, most> ends_{};
  std::size_t count_ = 0;
};

/// What somebody wants of the server: questions about claims, which may travel with those of others; or any other
/// statement, alone.
struct errand {
  using replies_handler = unique_function<void(std::span<const result<reply>>), 12>;
  using rows_handler = unique_function<void(result<const rows*>), 14>;  // a key, and who asked for it

  errand(std::vector<question> asked, replies_handler then)
      : questions(std::move(asked)),
        replies(questions.size(), failure(errc::internal)),
        left(questions.size()),
        replied(std::move(then)) {}
  errand(const char* name, sql::parameters with, rows_handler then)
      : statement(name), parameters(std::move(with)), read(std::move(then)) {}

  [[nodiscard]] bool is_statement() const noexcept { return questions.empty(); }

  std::vector<question> questions{};
  std::vector<result<reply>> replies{};
  std::size_t left = 0;  // without a reply
  replies_handler replied{};

  const char* statement = nullptr;
  std::string text{};  // instead of a statement's name: it is asked for once, and answered in text
  sql::parameters parameters{};
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

/// Why the server refused a message. Its transaction was rolled back: nothing has happened.
struct refusal {
  failure why{errc::internal};
  unsigned tries = 1;          ///< so often the same may be asked; more than one where two stood in each other's way
  bool ends = false;           ///< the connection: this server cannot answer any more, but perhaps a new connection
  bool after_the_end = false;  ///< it ended the session: said after a commit as well as before
};

/// A message, and what came back.
struct flight {
  struct seat {
    std::size_t parcel = 0;
    std::size_t question = 0;  // of the errand
  };
  std::vector<parcel> parcels{};
  std::vector<seat> order{};  // of the replies
  std::vector<reply> replies{};
  std::unique_ptr<rows> table{};  // of a statement, or else
  short_row row{};
  std::optional<refusal> wrong{};
  instant sent{};

  /// For the next message; its memory is kept.
  void clear() noexcept {
    parcels.clear();
    order.clear();
    replies.clear();
    table.reset();
    wrong.reset();
  }
  [[nodiscard]] const rows* result_of_statement() const noexcept { return table ? table.get() : &row; }
  [[nodiscard]] const question& at(const seat& which) const {
    return parcels[which.parcel].of->questions[which.question];
  }
  /// Of a message that is one statement; nullptr: it is questions.
  [[nodiscard]] const errand* statement() const noexcept {
    const auto& first = *parcels.front().of;
    return first.is_statement() ? &first : nullptr;
  }
};

/// All of an errand.
inline parcel whole(std::shared_ptr<errand> what) {
  const auto count = what->questions.size();
  return {.of = std::move(what), .count = count};
}

}  // namespace interlock::inline v1::sql
