// SPDX-License-Identifier: MIT
#include "core/origin.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>  // program_invocation_short_name

namespace interlock::inline v1::core {

claim_origin own_origin(std::string_view purpose) {
  std::array<char, 256> host{};
  claim_origin out;
  out.host = ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "unknown";
  out.program = program_invocation_short_name;
  out.purpose = purpose;
  out.pid = ::getpid();
  return out;
}

}  // namespace interlock::inline v1::core
