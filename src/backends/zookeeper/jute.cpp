// SPDX-License-Identifier: MIT
#include "backends/zookeeper/jute.hpp"

#include <array>
#include <cstddef>

namespace interlock::inline v1::zookeeper_store {
namespace {

template <std::size_t Bytes>
void put_bytes(std::string& to, std::uint64_t value) {
  std::array<char, Bytes> out{};
  for (std::size_t i = Bytes; i-- > 0; value >>= 8) out[i] = static_cast<char>(value & 0xff);
  to.append(out.data(), Bytes);
}

std::uint64_t big_endian(std::string_view from) noexcept {
  std::uint64_t out = 0;
  for (const char one : from) out = out << 8 | static_cast<unsigned char>(one);
  return out;
}

}  // namespace

void put_number(std::string& to, std::int32_t value) { put_bytes<4>(to, static_cast<std::uint32_t>(value)); }
void put_big(std::string& to, std::int64_t value) { put_bytes<8>(to, static_cast<std::uint64_t>(value)); }
void put_flag(std::string& to, bool value) { to.push_back(value ? 1 : 0); }
void put_text(std::string& to, std::string_view value) {
  put_number(to, static_cast<std::int32_t>(value.size()));
  to += value;
}

std::string_view reader::take(std::size_t size) noexcept {
  if (size > rest_.size()) {
    ok_ = false;
    rest_ = {};
    return {};
  }
  const auto out = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return out;
}

std::int32_t reader::number() noexcept { return static_cast<std::int32_t>(big_endian(take(4))); }
std::int64_t reader::big() noexcept { return static_cast<std::int64_t>(big_endian(take(8))); }
bool reader::flag() noexcept { return big_endian(take(1)) != 0; }

std::string_view reader::text() noexcept {
  const auto size = number();
  return size <= 0 ? std::string_view{} : take(static_cast<std::size_t>(size));  // -1: null
}

std::vector<std::string_view> reader::texts() {
  std::vector<std::string_view> out;
  for (auto left = number(); left > 0 && ok_; --left) out.push_back(text());
  if (!ok_) out.clear();
  return out;
}

node_stat reader::stat() noexcept {
  node_stat out;
  out.czxid = big();
  out.mzxid = big();
  out.ctime = big();
  big();  // when its data was set
  out.version = number();
  number();  // version of its children
  number();  // version of its rights
  out.owner = big();
  number();  // length of its data
  out.children = number();
  big();  // the change that last added or removed a child
  return out;
}

}  // namespace interlock::inline v1::zookeeper_store
