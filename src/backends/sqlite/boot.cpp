// SPDX-License-Identifier: MIT
#include "backends/sqlite/boot.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace interlock::inline v1::sqlite_store {
namespace {

std::string read_line(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::array<char, 256> text{};
  const auto got = ::read(fd, text.data(), text.size());
  ::close(fd);
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string();
}

// A time namespace shifts the boot clock of the processes in it.
std::string clock_shift() {
  const auto text = read_line("/proc/self/timens_offsets");  // not there on kernels without time namespaces
  const auto at = text.find("boottime");
  if (at == std::string::npos) return {};
  std::string shift;
  for (const char c : std::string_view(text).substr(at + 8)) {
    if (c == '\n') break;
    if (c != ' ' || (!shift.empty() && shift.back() != ' ')) shift += c;
  }
  return shift == "0 0" ? std::string() : " shifted " + shift;
}

}  // namespace

result<std::string> boot_identity() {
  auto id = read_line("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  if (id.empty())
    return failure(errc::unsupported,
                   "sqlite store: /proc/sys/kernel/random/boot_id cannot be read; is /proc mounted?");
  return id + clock_shift();
}

}  // namespace interlock::inline v1::sqlite_store
