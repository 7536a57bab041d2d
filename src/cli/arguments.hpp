// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/options.hpp>
#include <interlock/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::cli {

/// `try` and `break` are words of the language, so they are called after what they do.
enum class verb : std::uint8_t { run, attempt, ls, show, evict, doctor, schema, demo, version, help };
inline constexpr std::size_t verb_count = 10;
inline constexpr std::string_view verb_names[verb_count] = {"run",    "try",    "ls",   "show",    "break",
                                                            "doctor", "schema", "demo", "version", "help"};
constexpr std::string_view to_string(verb which) noexcept { return verb_names[static_cast<std::size_t>(which)]; }

struct permits_wanted {
  std::uint32_t take = 1, limit = 1;
};

/// The command line, understood. The views point into argv.
struct arguments {
  verb what = verb::help;
  bool help = false;                      ///< VERB --help
  std::vector<std::string_view> words{};  ///< what follows the verb and is no option
  std::vector<char*> command{};           ///< what follows "--", with the closing null pointer

  bool force = false, json = false, quiet = false, shared = false;
  std::optional<std::string_view> handle{}, purpose{};
  std::optional<std::string> store{};
  std::optional<milliseconds> lease{}, lock_delay{}, max_hold{}, wait{};
  std::optional<permits_wanted> permits{};
  std::optional<int> status_fd{};
};

/// Checks everything that can be known without a store, so that a bad call changes nothing anywhere. The failure is one
/// line that names the value and the rule. A store's password is blotted out of argv once it is read. Written by hand:
/// exact about "--", and nothing to set up at each start.
result<arguments> parse_arguments(int argc, char** argv);

}  // namespace interlock::cli
