// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace interlock::cli {

/// All of a file, or nothing if it cannot be read.
std::string content_of(const std::string& file);
/// In place of what the file held. Throws std::system_error.
void put_content(const std::string& file, std::string_view text);

}  // namespace interlock::cli
