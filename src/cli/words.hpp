// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/options.hpp>

#include <string>
#include <string_view>

/// What the command says to people. No iostreams: the command is started once per job, and they cost start-up time.
namespace interlock::cli {

/// One line for people, on stderr: "interlock: ...". Text from elsewhere must have gone through safe().
void say(std::string_view line) noexcept;
/// To stdout, all of it; throws std::system_error if it cannot be written.
void print(std::string_view text);

/// Text from a store or from argv as a terminal may be given it: control characters (also those above ASCII), marks
/// that reorder text, and broken UTF-8 are shown as \xNN, so that a lock's name cannot pretend to be something else.
std::string safe(std::string_view text);
/// How many columns safe text takes, near enough for a table.
std::size_t width(std::string_view text) noexcept;

/// "350ms", "12.4s", "3m05s", "2h10m".
std::string spoken(milliseconds span);

/// The candidate most like the word, if any is like it at all.
std::string_view nearest(std::string_view word, const std::string_view* first, const std::string_view* last);

}  // namespace interlock::cli
