// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A gRPC server's side of HTTP/2, byte by byte, for what no real one says: https://www.rfc-editor.org/rfc/rfc9113,
/// https://www.rfc-editor.org/rfc/rfc7541
namespace interlock::test_support::http2 {

enum class type : std::uint8_t { data = 0, headers = 1, reset = 3, settings = 4, ping = 6, goaway = 7 };
inline constexpr int end_stream = 1, acknowledged = 1, end_headers = 4;
inline constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline const std::string status_200 = "\x88";

inline std::string number(std::uint32_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> 8 * i);
  return out;
}
inline std::string frame(type is, int flags, std::uint32_t stream, std::string_view payload = {}) {
  return number(static_cast<std::uint32_t>(payload.size()), 3) + static_cast<char>(is) + static_cast<char>(flags) +
         number(stream, 4) + std::string(payload);
}
/// Shorter than 127 bytes each.
inline std::string literal(std::string_view name, std::string_view value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + std::string(name) + static_cast<char>(value.size()) +
         std::string(value);
}
inline std::string message(std::string_view text) {
  return std::string(1, '\0') + number(static_cast<std::uint32_t>(text.size()), 4) + std::string(text);
}
inline std::string beginning(std::uint32_t stream) { return frame(type::headers, end_headers, stream, status_200); }
inline std::string trailers(std::uint32_t stream, std::string_view code) {
  return frame(type::headers, end_headers | end_stream, stream, literal("grpc-status", code));
}

struct sent_frame {
  type is{};
  int flags = 0;
  std::uint32_t stream = 0;
  std::string payload{};
};
/// Those that are whole, after the preface if there is one.
inline std::vector<sent_frame> frames_in(std::string_view bytes) {
  if (bytes.starts_with(preface)) bytes.remove_prefix(preface.size());
  std::vector<sent_frame> out;
  const auto read = [&](std::size_t at, std::size_t count) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  while (bytes.size() >= 9 && bytes.size() - 9 >= read(0, 3)) {
    const auto size = read(0, 3);
    out.push_back({static_cast<type>(bytes[3]), bytes[4], read(5, 4), std::string(bytes.substr(9, size))});
    bytes.remove_prefix(9 + size);
  }
  return out;
}

}  // namespace interlock::test_support::http2
