// SPDX-License-Identifier: MIT
#include "core/sha256.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace interlock::inline v1::core {
namespace {

constexpr std::array<std::uint32_t, 64> rounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using hash_state = std::array<std::uint32_t, 8>;

void compress(hash_state& h, const std::byte* block) noexcept {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t b = 0; b < 4; ++b) w[i] = (w[i] << 8) | std::to_integer<std::uint32_t>(block[4 * i + b]);
  for (std::size_t i = 16; i < 64; ++i) {
    const auto s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const auto s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, k] = h;
  for (std::size_t i = 0; i < 64; ++i) {
    const auto t1 =
        k + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i] + w[i];
    const auto t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    k = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const hash_state add{a, b, c, d, e, f, g, k};
  for (std::size_t i = 0; i < 8; ++i) h[i] += add[i];
}

using compression = void (*)(hash_state&, const std::byte*) noexcept;

#if defined(__x86_64__)
// With the processor's own instructions, a tenth of the time. They work on the halves ABEF and CDGH of the state, four
// rounds a turn; m holds the sixteen words that are next.
__attribute__((target("sha,sse4.1"))) void compress_fast(hash_state& h, const std::byte* block) noexcept {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const auto big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto cdab = _mm_shuffle_epi32(load(&h[0]), 0xb1), efgh = _mm_shuffle_epi32(load(&h[4]), 0x1b);
  auto abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  const auto abef_before = abef, cdgh_before = cdgh;
  __m128i m[4];
  for (std::size_t i = 0; i < 4; ++i) m[i] = _mm_shuffle_epi8(load(block + 16 * i), big_endian);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < 16; ++i) {
    auto& now = m[i % 4];
    const auto last = m[(i + 3) % 4];
    const auto words = _mm_add_epi32(now, load(&rounds[4 * i]));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
    const auto seven_back = _mm_alignr_epi8(last, m[(i + 2) % 4], 4);
    now = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(now, m[(i + 1) % 4]), seven_back), last);
  }
  const auto feba = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
  const auto dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&h[0]), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&h[4]), _mm_alignr_epi8(dchg, feba, 8));
}

compression best_compression() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool sse = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_1) != 0 && (c & bit_SSSE3) != 0;
  const bool sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
  return sse && sha ? compress_fast : compress;
}
#else
compression best_compression() noexcept { return compress; }
#endif

template <class N>
void put_big_endian(std::byte* to, N number) noexcept {
  if constexpr (std::endian::native == std::endian::little)
    number = sizeof(N) == 8 ? static_cast<N>(__builtin_bswap64(number))
                            : static_cast<N>(__builtin_bswap32(static_cast<std::uint32_t>(number)));
  std::memcpy(to, &number, sizeof number);
}

constexpr hash_state first_state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::array<std::byte, 32> hash(std::span<const std::byte> data, compression compress_block) noexcept {
  auto h = first_state;
  const auto bits = static_cast<std::uint64_t>(data.size()) * 8;
  for (; data.size() >= 64; data = data.subspan(64)) compress_block(h, data.data());

  std::array<std::byte, 128> tail;
  const std::size_t size = data.size() < 56 ? 64 : 128;
  std::memset(tail.data(), 0, 64);
  if (size == 128) std::memset(tail.data() + 64, 0, 64);
  if (!data.empty()) std::memcpy(tail.data(), data.data(), data.size());
  tail[data.size()] = std::byte{0x80};
  put_big_endian(tail.data() + size - 8, bits);
  for (std::size_t at = 0; at < size; at += 64) compress_block(h, tail.data() + at);

  std::array<std::byte, 32> out{};
  for (std::size_t i = 0; i < 8; ++i) put_big_endian(out.data() + 4 * i, h[i]);
  return out;
}

compression chosen_compression() noexcept {
  static const compression best = best_compression();
  return best;
}

}  // namespace

std::array<std::byte, 32> sha256(std::span<const std::byte> data) noexcept { return hash(data, chosen_compression()); }

std::array<std::byte, 16> half_sha256(std::span<const std::byte, 16> data) noexcept {
  static constexpr auto behind = [] {  // what stands behind the text: a mark, and its length in bits
    std::array<std::byte, 48> out{};
    out.front() = std::byte{0x80};
    out.back() = std::byte{16 * 8};
    return out;
  }();
  std::array<std::byte, 64> block;
  std::memcpy(block.data(), data.data(), data.size());
  std::memcpy(block.data() + data.size(), behind.data(), behind.size());
  auto h = first_state;
  chosen_compression()(h, block.data());
  std::array<std::byte, 16> out;
  for (std::size_t i = 0; i < 4; ++i) put_big_endian(out.data() + 4 * i, h[i]);
  return out;
}

std::array<std::byte, 32> sha256_portable(std::span<const std::byte> data) noexcept { return hash(data, compress); }

}  // namespace interlock::inline v1::core
