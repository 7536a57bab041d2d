// SPDX-License-Identifier: MIT
#include "support/moved_clock.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace interlock::test_support {

// The server may be another user's, who can perhaps not read where we were built.
moved_clock::moved_clock(std::chrono::milliseconds by) : folder_("clock") {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
  std::filesystem::copy_file(INTERLOCK_CLOCK_SHIM, shim());
  std::ofstream(folder_.path() / "offsets") << std::string(2 * sizeof(std::int64_t), '\0');
  move(by);
}

std::vector<std::string> moved_clock::environment() const {
  return {"LD_PRELOAD=" + shim().string(), "CLOCKSHIM=" + (folder_.path() / "offsets").string()};
}

// In place: the server has the file's memory mapped.
void moved_clock::move(std::chrono::milliseconds by) {
  std::fstream file(folder_.path() / "offsets", std::ios::in | std::ios::out | std::ios::binary);
  const std::int64_t wall = std::chrono::nanoseconds(by).count();
  file.write(reinterpret_cast<const char*>(&wall), sizeof wall);
  if (!file.flush()) throw std::runtime_error("cannot move the clock");
}

}  // namespace interlock::test_support
