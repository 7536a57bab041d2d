// SPDX-License-Identifier: MIT
#include "cli/demo_file.hpp"

#include "cli/descriptor.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>

/// Not with streams: one that is linked in is set up at every start of the command, also where no demo is run.
namespace interlock::cli {

std::string content_of(const std::string& file) {
  std::string text;
  const descriptor from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(from.get(), part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  return text;
}

void put_content(const std::string& file, std::string_view text) {
  const descriptor to(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (to.get() < 0 || ::write(to.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::system_error(errno, std::generic_category(), "cannot write " + file);
}

}  // namespace interlock::cli
