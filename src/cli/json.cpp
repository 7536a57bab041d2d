// SPDX-License-Identifier: MIT
#include "cli/json.hpp"

#include "cli/utf8.hpp"

namespace interlock::cli {

void json_writer::separate() {
  if (!first_) out_ += ',';
  first_ = false;
}

json_writer& json_writer::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

json_writer& json_writer::raw(std::string_view value) {
  separate();
  out_ += value;
  return *this;
}

json_writer& json_writer::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ':';
  first_ = true;
  return *this;
}

json_writer& json_writer::text(std::string_view value) {
  separate();
  quote(value);
  return *this;
}

void json_writer::quote(std::string_view value) {
  constexpr std::string_view digits = "0123456789abcdef";
  out_ += '"';
  while (!value.empty()) {
    const auto [size, point] = first_glyph(value);
    if (size == 0) {
      out_ += "\xef\xbf\xbd";
      value.remove_prefix(1);
      continue;
    }
    if (point < 0x20 || point == 0x7f)
      out_.append("\\u00").append(1, digits[point >> 4U]).append(1, digits[point & 15U]);
    else if (point == '"' || point == '\\')
      out_.append(1, '\\').append(1, value.front());
    else
      out_.append(value.substr(0, size));
    value.remove_prefix(size);
  }
  out_ += '"';
}

}  // namespace interlock::cli
