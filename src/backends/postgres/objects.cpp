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

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string filled_in(std::string_view text, const object_names& names) {
  constexpr std::string_view table = "{table_", schema = "{schema}";
  std::string out;
  for (;;) {
    const auto brace = text.find('{');
    out += text.substr(0, brace);
    if (brace == text.npos) return out;
    text.remove_prefix(brace);
    if (text.starts_with(schema)) {
      out += quoted(names.schema);
      text.remove_prefix(schema.size());
    } else if (const auto end = text.find('}'); text.starts_with(table) && end != text.npos) {
      out += quoted(names.table + "_" + std::string(text.substr(table.size(), end - table.size())));
      text.remove_prefix(end + 1);
    } else {
      out += '{';
      text.remove_prefix(1);
    }
  }
}

std::string schema_text(const object_names& names) { return filled_in(embedded::postgres_schema_sql, names); }

}  // namespace interlock::inline v1::postgres_store
