// SPDX-License-Identifier: MIT
#include "backends/etcd/grpc_message.hpp"

#include <charconv>
#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

std::size_t length_in(std::string_view prefix) noexcept {
  std::size_t out = 0;
  for (std::size_t i = 1; i < message_prefix; ++i) out = out << 8 | static_cast<unsigned char>(prefix[i]);
  return out;
}

}  // namespace

void put_prefix(std::string& framed) noexcept {
  const auto size = framed.size() - message_prefix;
  framed[0] = 0;
  for (std::size_t i = 1; i < message_prefix; ++i) framed[i] = static_cast<char>(size >> 8 * (message_prefix - 1 - i));
}

message_reader::state message_reader::take(std::string_view some, std::vector<std::string>& out) {
  const bool kept = !in_.empty();
  if (kept) in_ += some;
  const std::string_view all = kept ? std::string_view(in_) : some;
  auto found = state::fine;
  std::size_t at = 0;
  while (all.size() - at >= message_prefix) {
    const auto length = length_in(all.substr(at));
    if (all[at] != 0) found = state::compressed;
    if (length > longest) found = state::too_long;
    if (found != state::fine || all.size() - at - message_prefix < length) break;
    out.emplace_back(all.substr(at + message_prefix, length));
    at += message_prefix + length;
  }
  if (kept)
    in_.erase(0, at);
  else
    in_.assign(some.substr(at));
  return found;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const auto* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace interlock::inline v1::etcd_store
