// SPDX-License-Identifier: MIT
#include "api/default_store.hpp"

#include "core/percent.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace interlock::inline v1::api {
namespace {

std::string home() {
  const char* said = std::getenv("HOME");
  return said != nullptr && *said == '/' ? said : "";
}

// Each part in turn, 0700 where it is made: the locks are this user's alone.
result<void> make_directories(const std::string& path) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') continue;
    const auto part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return failure(errno == EACCES || errno == EROFS ? errc::denied : errc::unavailable,
                     "cannot make the directory " + part + " for the default store: " + std::strerror(errno) +
                         "; set INTERLOCK_STORE or XDG_STATE_HOME");
  }
  return {};
}

std::string encoded(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#')
      core::append_percent(out, c);
    else
      out += c;
  }
  return out;
}

}  // namespace

result<std::string> default_store_url() {
  if (const char* said = std::getenv("INTERLOCK_STORE"); said != nullptr && *said != '\0') return std::string(said);
  const char* state = std::getenv("XDG_STATE_HOME");
  std::string base = state != nullptr && *state == '/' ? state : home() + "/.local/state";
  if (base == "/.local/state")
    return failure(
        errc::invalid_argument,
        "no store given, and neither HOME nor XDG_STATE_HOME to keep one in: pass a store URL or set INTERLOCK_STORE");
  base += "/interlock";
  if (auto made = make_directories(base); !made) return made.error();
  return "sqlite:" + encoded(base) + "/locks.db";
}

}  // namespace interlock::inline v1::api
