// SPDX-License-Identifier: MIT
#include "backends/postgres/objects.hpp"

#include "backends/postgres/schema.sql.hpp"

namespace interlock::inline v1::postgres_store {
namespace {

constexpr std::size_t longest_name = 63;   // NAMEDATALEN - 1: PostgreSQL silently cuts what is longer
constexpr std::size_t longest_ending = 7;  // of _settle

failure bad(std::string_view option, std::string_view rule) {
  return failure(errc::invalid_argument, "store URL: option " + std::string(option) + " " + std::string(rule));
}

result<void> check(std::string_view option, std::string_view name, std::size_t longest) {
  if (name.empty()) return bad(option, "is empty");
  if (name.size() > longest) return bad(option, "is longer than " + std::to_string(longest) + " bytes");
  if (name.find("$interlock$") != name.npos) return bad(option, "contains $interlock$, which ends a function's text");
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20) return bad(option, "contains a control character");
  return {};
}

}  // namespace

result<void> check_names(const object_names& names) {
  if (auto fine = check("schema", names.schema, longest_name); !fine) return fine;
  return check("table", names.table, longest_name - longest_ending);
}

std::string schema_text(const object_names& names) { return filled_in(embedded::postgres_schema_sql, names); }

}  // namespace interlock::inline v1::postgres_store
