// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sqlite/connection.hpp"
#include "core/claim_book.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace interlock::inline v1::sqlite_store {

// Between rows of the table `book` and a core::claim_book. Columns 0 to 9 of a row are seq, token, since, weight,
// tokens, flags, ends, lease, channel, secret.

void read_header(const statement& row, core::claim_book& into) noexcept;
/// false: no claim could have been written like this.
bool read_claim(const statement& row, core::claim_book& into);
/// ?1 to ?9: name, seq, token, since, weight, tokens, flags, ends, lease.
void bind_claim(statement& to, std::string_view name, const core::book_claim& one, std::int64_t lease) noexcept;

/// Who claims, as the column `origin` has it: pid, host, program and purpose, a line each.
std::shared_ptr<const core::claim_source> read_origin(std::string_view text);

/// Puts that text together once: all claims of a client have the same origin.
class origin_text {
 public:
  explicit origin_text(claim_origin own);
  /// Of a claim that brings this origin; nullptr: our own.
  const std::string& line_of(const claim_origin* given);

 private:
  claim_origin own_, last_;
  std::string text_;
};

}  // namespace interlock::inline v1::sqlite_store
