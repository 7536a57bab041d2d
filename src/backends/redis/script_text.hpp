// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/packet.hpp"

#include <string>
#include <string_view>

/// Scripts are put together out of parts where their files say `--@ file`: a function that several share would have to
/// be made anew by the server at every call.
namespace interlock::inline v1::redis_store {

using script_part = std::string_view (*)(std::string_view file);
inline constexpr std::string_view missing_part = "error('a part is missing')";

/// Servers read the text once, people read it in this tree: comments and indentation stay here.
std::string script_text(std::string_view source, script_part part);

struct assembled_script {
  assembled_script(std::string_view source, script_part part) : text(script_text(source, part)) {}
  const std::string text;
  const script made{text};
};

}  // namespace interlock::inline v1::redis_store
