// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace interlock::inline v1::core {

/// FIPS 180-4. By hand because the one hash we need is not worth loading a crypto library for: that alone would cost
/// the command more start-up time than taking a lock.
std::array<std::byte, 32> sha256(std::span<const std::byte> data) noexcept;
/// The first half of it, of a text that is 16 bytes long: every claim has one.
std::array<std::byte, 16> half_sha256(std::span<const std::byte, 16> data) noexcept;
/// The whole without the processor's own instructions for it, which sha256() uses where there are any: for comparison.
std::array<std::byte, 32> sha256_portable(std::span<const std::byte> data) noexcept;

}  // namespace interlock::inline v1::core
