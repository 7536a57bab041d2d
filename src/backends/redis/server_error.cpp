// SPDX-License-Identifier: MIT
#include "backends/redis/server_error.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace interlock::inline v1::redis_store {
namespace {

constexpr std::size_t longest = 300;  // of what is quoted: a server may say anything

// Nothing was done, and it may be possible in a moment; elsewhere, if masters that say so have not agreed yet.
constexpr std::array<std::string_view, 12> for_now{"LOADING", "BUSY",        "MASTERDOWN", "READONLY",
                                                   "OOM",     "CLUSTERDOWN", "NOREPLICAS", "TRYAGAIN",
                                                   "MISCONF", "CROSSSLOT",   "MOVED",      "ASK"};
constexpr std::array<std::string_view, 4> rights{"NOPERM", "NOAUTH", "WRONGPASS", "NOSCRIPT"};

bool one_of(std::string_view code, auto& list) { return std::find(list.begin(), list.end(), code) != list.end(); }

std::string quoted(std::string_view error) {
  std::string out(error.substr(0, longest));
  for (auto& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  return out;
}

}  // namespace

failure server_failure(std::string_view error) {
  const auto code = error_code(error);
  const auto text = "the server says: " + quoted(error);
  if (one_of(code, for_now)) return failure(errc::unavailable, text);
  if (one_of(code, rights) || error.find("can't run this command") != error.npos) return failure(errc::denied, text);
  if (code == "WRONGTYPE") return failure(errc::unsupported, text + " (the key is used for something else)");
  return failure(errc::unsupported, text);
}

}  // namespace interlock::inline v1::redis_store
