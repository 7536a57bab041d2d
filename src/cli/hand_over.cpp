// SPDX-License-Identifier: MIT
#include "cli/hand_over.hpp"

#include "api/builtin_stores.hpp"
#include "cli/own_path.hpp"
#include "core/registry.hpp"

#include <interlock/url.hpp>

#include <cstdlib>

#include <unistd.h>

namespace interlock::cli {

#ifdef INTERLOCK_OTHER_PROGRAM

namespace {

// Only the other program can list all stores, or say of a scheme that nobody knows it.
bool is_for_other(const arguments& got) {
  if (got.help) return false;
  if (got.what == verb::version || got.what == verb::schema) return true;
  if (got.what == verb::demo || got.what == verb::help) return false;
  const char* from_environment = std::getenv("INTERLOCK_STORE");
  const auto url = got.store ? *got.store : std::string(from_environment != nullptr ? from_environment : "");
  const auto parsed = parse_url(url);
  if (!parsed) return false;  // empty: the user's own file; wrong: wrong here as well as there
  api::register_builtin_stores();
  return !core::find_backend(parsed->scheme);
}

}  // namespace

handed_over::handed_over(int argc, char** argv) : words_(argv, argv + argc) {}

result<void> handed_over::leave_if_needed(const arguments& got) {
  if (!is_for_other(got)) return {};
  std::vector<char*> argv;
  for (auto& word : words_) argv.push_back(word.data());
  argv.push_back(nullptr);
  const auto self = own_path();
  const auto folder = self.substr(0, self.rfind('/') + 1);
  const auto beside = folder + INTERLOCK_OTHER_PROGRAM;
  const auto installed = folder + INTERLOCK_OTHER_FOLDER "/" INTERLOCK_OTHER_PROGRAM;
  for (const auto& path : {beside, installed}) ::execv(path.c_str(), argv.data());
  if (got.what == verb::version) return {};  // then what is here is all there is
  return failure(errc::unsupported, "stores on the network are served by the program " INTERLOCK_OTHER_PROGRAM
                                    ", which is neither " +
                                        beside + " nor " + installed + ": install interlock as a whole");
}

#else

handed_over::handed_over(int /*argc*/, char** /*argv*/) {}

result<void> handed_over::leave_if_needed(const arguments& /*got*/) { return {}; }

#endif

}  // namespace interlock::cli
