// SPDX-License-Identifier: MIT
#include "backends/sql/objects.hpp"

namespace interlock::inline v1::sql {

std::string in_quotes(std::string_view name, char quote) {
  std::string out(1, quote);
  for (const char c : name) out.append(c == quote ? 2 : 1, c);
  return out + quote;
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
      out += in_quotes(names.schema, names.quote);
      text.remove_prefix(schema.size());
    } else if (const auto end = text.find('}'); text.starts_with(table) && end != text.npos) {
      const auto name = names.table + "_" + std::string(text.substr(table.size(), end - table.size()));
      out += in_quotes(name, names.quote);
      text.remove_prefix(end + 1);
    } else {
      out += '{';
      text.remove_prefix(1);
    }
  }
}

}  // namespace interlock::inline v1::sql
