// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace interlock::cli {

/// Blots the password of a store URL out of argv's own memory, where every user of the host can read it with `ps`.
/// `url` points into argv; copy it first.
void blot_password(std::string_view url) noexcept;

/// This process's environment for the command: no store password in it, `additions` ("NAME=value") in place of whatever
/// was there under these names.
std::vector<std::string> command_environment(const std::vector<std::string>& additions);

}  // namespace interlock::cli
