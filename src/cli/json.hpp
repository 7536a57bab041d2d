// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace interlock::cli {

/// Writes one JSON document, compactly, in the order it is called. A few lines of our own instead of a library's
/// thousands: the command only ever writes JSON, and it starts once per job.
class json_writer {
 public:
  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_array() { return open('['); }
  json_writer& end_array() { return close(']'); }

  json_writer& key(std::string_view name);
  /// What is not UTF-8 becomes U+FFFD: JSON has no other way to carry it.
  json_writer& text(std::string_view value);
  json_writer& number(std::integral auto value) { return raw(std::to_string(value)); }
  json_writer& boolean(bool value) { return raw(value ? "true" : "false"); }
  json_writer& null() { return raw("null"); }

  [[nodiscard]] const std::string& str() const noexcept { return out_; }

 private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  json_writer& raw(std::string_view value);
  void separate();
  void quote(std::string_view value);

  std::string out_;
  bool first_ = true;  // nothing before it at this level, or a key just written
};

}  // namespace interlock::cli
