// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/result.hpp>

#include <array>
#include <cstdint>
#include <string_view>

/// The hashes by which other libraries make a lock's number of its name. Not for secrets.
namespace interlock::inline v1::postgres_store {

std::uint32_t crc32(std::string_view text) noexcept;
result<std::array<std::uint8_t, 16>> md5(std::string_view text);
result<std::array<std::uint8_t, 20>> sha1(std::string_view text);

}  // namespace interlock::inline v1::postgres_store
