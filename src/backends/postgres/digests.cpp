// SPDX-License-Identifier: MIT
#include "backends/postgres/digests.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <string>

namespace interlock::inline v1::postgres_store {
namespace {

/// Whole blocks of 64 bytes: the text, a bit, zeros, and the text's length in bits.
std::string padded(std::string_view text, std::endian order) {
  std::string out(text);
  out += '\x80';
  while (out.size() % 64 != 56) out += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (unsigned i = 0; i < 8; ++i)
    out += static_cast<char>(bits >> (order == std::endian::little ? 8 * i : 56 - 8 * i));
  return out;
}

std::uint32_t word_at(const std::string& text, std::size_t at, std::endian order) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t byte = static_cast<unsigned char>(text[at + i]);
    out |= byte << (order == std::endian::little ? 8 * i : 24 - 8 * i);
  }
  return out;
}

template <std::size_t Words>
std::array<std::uint8_t, 4 * Words> bytes_of(const std::array<std::uint32_t, Words>& words, std::endian order) {
  std::array<std::uint8_t, 4 * Words> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = order == std::endian::little ? i % 4 : 3 - i % 4;
    out[i] = static_cast<std::uint8_t>(words[i / 4] >> (8 * byte));
  }
  return out;
}

}  // namespace

// The one of zlib and Ethernet.
std::uint32_t crc32(std::string_view text) noexcept {
  std::uint32_t out = 0xffffffff;
  for (const char c : text) {
    out ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) out = (out >> 1) ^ ((out & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~out;
}

// RFC 1321.
std::array<std::uint8_t, 16> md5(std::string_view text) {
  constexpr std::array<std::array<int, 4>, 4> turns{
      {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};
  const auto input = padded(text, std::endian::little);
  std::array<std::uint32_t, 4> all{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t block = 0; block < input.size(); block += 64) {
    auto [a, b, c, d] = all;
    for (std::size_t i = 0; i < 64; ++i) {
      const auto round = i / 16;
      const auto mixed = round == 0   ? (b & c) | (~b & d)
                         : round == 1 ? (d & b) | (~d & c)
                         : round == 2 ? b ^ c ^ d
                                      : c ^ (b | ~d);
      const auto which = round == 0 ? i : round == 1 ? 5 * i + 1 : round == 2 ? 3 * i + 5 : 7 * i;
      const auto constant = static_cast<std::uint32_t>(std::abs(std::sin(static_cast<double>(i + 1))) * 4294967296.0);
      const auto sum = a + mixed + constant + word_at(input, block + 4 * (which % 16), std::endian::little);
      a = d;
      d = c;
      c = b;
      b += std::rotl(sum, turns[round][i % 4]);
    }
    all = {all[0] + a, all[1] + b, all[2] + c, all[3] + d};
  }
  return bytes_of(all, std::endian::little);
}

// FIPS 180-4.
std::array<std::uint8_t, 20> sha1(std::string_view text) {
  constexpr std::array<std::uint32_t, 4> constants{0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
  const auto input = padded(text, std::endian::big);
  std::array<std::uint32_t, 5> all{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (std::size_t block = 0; block < input.size(); block += 64) {
    std::array<std::uint32_t, 80> words{};
    for (std::size_t i = 0; i < 80; ++i)
      words[i] = i < 16 ? word_at(input, block + 4 * i, std::endian::big)
                        : std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    auto [a, b, c, d, e] = all;
    for (std::size_t i = 0; i < 80; ++i) {
      const auto round = i / 20;
      const auto mixed = round == 0 ? (b & c) | (~b & d) : round == 2 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
      const auto sum = std::rotl(a, 5) + mixed + e + constants[round] + words[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = sum;
    }
    all = {all[0] + a, all[1] + b, all[2] + c, all[3] + d, all[4] + e};
  }
  return bytes_of(all, std::endian::big);
}

}  // namespace interlock::inline v1::postgres_store
