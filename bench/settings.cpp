// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace bench {
namespace {

template <class T>
bool number(std::string_view text, T least, T most, T& out) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  return wrong == std::errc{} && end == text.data() + text.size() && out >= least && out <= most;
}

request refuse(std::string why) { return {.is = request::what::refuse, .why = std::move(why)}; }

/// An option with a value. Empty: taken; else what is wrong with it.
std::string take(settings& with, std::string_view option, std::string_view value) {
  if (option == "--only") return with.only.emplace_back(value), "";
  if (option == "--command") return with.command = value, "";
  if (option == "--peers") return with.peers = value, "";
  if (option == "--rounds")
    return number(value, 1, 1000, with.rounds) ? "" : "--rounds takes a whole number from 1 to 1000";
  return number(value, 0.01, 600.0, with.seconds) ? "" : "--seconds takes a number from 0.01 to 600";
}

bool takes_value(std::string_view word) {
  return word == "--only" || word == "--rounds" || word == "--seconds" || word == "--command" || word == "--peers";
}

}  // namespace

request read_arguments(int count, char** words) {
  request out;
#ifdef INTERLOCK_COMMAND
  out.with.command = INTERLOCK_COMMAND;
#endif
  // /tmp is often kept in memory; a lock file's cost is the disk's. TMPDIR is the user's own word.
  const char* folder = std::getenv("TMPDIR");
  out.with.folder = folder != nullptr && *folder != '\0' ? folder : "/var/tmp";
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--help" || word == "-h") return {.is = request::what::help};
    if (word == "--list")
      out.is = request::what::list;
    else if (word == "--check")
      out.with.check = true;
    else if (word == "--json")
      out.with.json = true;
    else if (!takes_value(word))
      return refuse("no option " + std::string(word) + "; --help lists them");
    else if (++i == count)
      return refuse(std::string(word) + " needs a value");
    else if (auto wrong = take(out.with, word, words[i]); !wrong.empty())
      return refuse(std::move(wrong));
  }
  return out;
}

}  // namespace bench
