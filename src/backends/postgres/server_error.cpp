// SPDX-License-Identifier: MIT
#include "backends/postgres/server_error.hpp"

#include <string>

namespace interlock::inline v1::postgres_store {
namespace {

constexpr std::size_t longest = 300;

bool of_class(std::string_view state, std::string_view first_two) noexcept { return state.starts_with(first_two); }

}  // namespace

std::string_view sqlstate(const PGresult* said) noexcept {
  const char* const text = PQresultErrorField(said, PG_DIAG_SQLSTATE);
  return text == nullptr ? std::string_view{} : text;
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
bool is_worth_a_retry(std::string_view state) noexcept {
  return state == "40001" /* serialization_failure */ || state == "40P01" /* deadlock_detected */;
}

bool ends_connection(std::string_view state) noexcept {
  return state == "25006" /* read_only_sql_transaction */ || state == "42P01" /* undefined_table */ ||
         state == "42883" /* undefined_function */ || state == "3F000" /* invalid_schema_name */ ||
         state == "26000" /* invalid_sql_statement_name: a pooler gave us another session */ ||
         state == "57P01" /* admin_shutdown */ || state == "57P02" /* crash_shutdown */ || of_class(state, "08");
}

std::string tidy_text(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string out(text.substr(0, longest));
  for (auto& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return out;
}

failure server_failure(std::string_view state, std::string_view text) {
  const auto said = "the server says: " + tidy_text(text) + (state.empty() ? "" : " (" + std::string(state) + ")");
  if (state == "42501" || of_class(state, "28")) return failure(errc::denied, said);
  if (state == "25006")
    return failure(errc::unavailable, said + "; locks need the primary, and this is a standby or read-only");
  if (state == "55P03") return failure(errc::unavailable, said + "; another transaction keeps the name's row locked");
  if (state == "25000" || of_class(state, "0A")) return failure(errc::unsupported, said);
  // Out of space, memory or connections; cancelled; shutting down; conflicts that did not end.
  if (of_class(state, "53") || of_class(state, "57") || of_class(state, "58") || of_class(state, "40") ||
      of_class(state, "08") || ends_connection(state))
    return failure(errc::unavailable, said);
  return failure(errc::internal, said);
}

failure server_failure(const PGresult* said) {
  const char* const text = PQresultErrorField(said, PG_DIAG_MESSAGE_PRIMARY);
  return server_failure(sqlstate(said), text != nullptr ? text : PQresultErrorMessage(said));
}

}  // namespace interlock::inline v1::postgres_store
