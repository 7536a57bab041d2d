// SPDX-License-Identifier: MIT
#include "backends/postgres/digests.hpp"

#include <openssl/evp.h>

#include <string>

namespace interlock::inline v1::postgres_store {
namespace {

template <std::size_t Size>
result<std::array<std::uint8_t, Size>> digest(std::string_view text, const EVP_MD* how, const char* name) {
  std::array<std::uint8_t, Size> out{};
  unsigned size = 0;
  if (EVP_Digest(text.data(), text.size(), out.data(), &size, how, nullptr) != 1 || size != Size)
    return failure(errc::unsupported, std::string("OpenSSL is set up to refuse ") + name + ", which this rule needs");
  return out;
}

}  // namespace

// The one of zlib and Ethernet, which OpenSSL has not.
std::uint32_t crc32(std::string_view text) noexcept {
  std::uint32_t out = 0xffffffff;
  for (const char c : text) {
    out ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) out = (out >> 1) ^ ((out & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~out;
}

result<std::array<std::uint8_t, 16>> md5(std::string_view text) { return digest<16>(text, EVP_md5(), "MD5"); }
result<std::array<std::uint8_t, 20>> sha1(std::string_view text) { return digest<20>(text, EVP_sha1(), "SHA-1"); }

}  // namespace interlock::inline v1::postgres_store
