// SPDX-License-Identifier: MIT
#include "core/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace interlock::inline v1::core {

std::array<std::byte, 16> kernel_random::draw() {
  std::array<std::byte, 16> out{};
  if (used_ == block_.size()) {
    std::size_t got = 0;
    while (got < block_.size()) {
      const auto n = ::getrandom(block_.data() + got, block_.size() - got, 0);
      if (n > 0)
        got += static_cast<std::size_t>(n);
      else if (errno != EINTR)
        throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    used_ = 0;
  }
  std::memcpy(out.data(), block_.data() + used_, out.size());
  std::memset(block_.data() + used_, 0, out.size());  // a secret is not kept twice
  used_ += out.size();
  return out;
}

claim_secret kernel_random::secret() { return claim_secret(draw()); }

// Jitter needs no secrecy: a small generator, seeded once.
double kernel_random::fraction() noexcept {
  if (jitter_ == 0) {
    try {
      const auto seed = draw();
      std::memcpy(&jitter_, seed.data(), sizeof jitter_);
    } catch (...) {
      jitter_ = 0x9e3779b97f4a7c15;
    }
    jitter_ |= 1;
  }
  jitter_ ^= jitter_ << 13;
  jitter_ ^= jitter_ >> 7;
  jitter_ ^= jitter_ << 17;
  return static_cast<double>(jitter_ >> 11) * 0x1.0p-53;
}

}  // namespace interlock::inline v1::core
