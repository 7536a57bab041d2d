// SPDX-License-Identifier: MIT
#include "backends/redis/script_text.hpp"

#include <algorithm>

namespace interlock::inline v1::redis_store {
namespace {

void append_lines(std::string& to, std::string_view text, script_part part) {
  while (!text.empty()) {
    const auto length = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("--@ ")) append_lines(to, part(line.substr(4)), part);
    if (line.empty() || line.starts_with("--")) continue;
    to += line;
    to += '\n';
  }
}

}  // namespace

std::string script_text(std::string_view source, script_part part) {
  std::string out;
  append_lines(out, source, part);
  return out;
}

}  // namespace interlock::inline v1::redis_store
