// SPDX-License-Identifier: MIT
#include "backends/etcd/keys.hpp"

#include <algorithm>
#include <charconv>

namespace interlock::inline v1::etcd_store {

std::string hexadecimal(lease_id lease) {
  char digits[16];
  const auto [end, wrong] = std::to_chars(digits, digits + sizeof digits, static_cast<std::uint64_t>(lease), 16);
  return {digits, end};
}

std::string keyring::written(std::string_view name) const {
  std::string out;
  out.reserve(name.size());
  for (const char c : name) {
    if (c == '%')
      out += "%25";
    else if (c == '/' && !keep_slashes_)
      out += "%2F";
    else
      out += c;
  }
  return out;
}

std::optional<std::string> keyring::read(std::string_view written) const {
  std::string out;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '%') {
      out += written[i];
      continue;
    }
    const auto code = written.substr(i, 3);
    if (code == "%25")
      out += '%';
    else if (code == "%2F" && !keep_slashes_)
      out += '/';
    else
      return {};
    i += 2;
  }
  if (out.empty()) return {};
  return out;
}

std::string keyring::claim(std::string_view written, lease_id lease) const {
  return prefix_ + std::string(written) + "/" + hexadecimal(lease);
}

std::string keyring::claim(std::string_view written, lease_id lease, const claim_id& id) const {
  return claim(written, lease) + "-" + to_string(id);
}

key_range keyring::claims(std::string_view written) const {
  return beginning_with(prefix_ + std::string(written) + "/");
}

std::string keyring::tomb(const claim_id& id, lease_id lease) const {
  return prefix_ + "%tomb/" + to_string(id) + "/" + hexadecimal(lease);
}

key_range keyring::tombs(const claim_id& id) const { return beginning_with(prefix_ + "%tomb/" + to_string(id) + "/"); }

keyring::meaning keyring::of(std::string_view key) const {
  using kind = meaning::kind;
  if (!key.starts_with(prefix_)) return {};
  key.remove_prefix(prefix_.size());
  const auto behind = [&](std::string_view start) { return key.substr(start.size()); };
  constexpr std::string_view evicted = "%news/e/", woken = "%news/w/";
  if (key.starts_with(evicted)) return {kind::eviction, {}, behind(evicted)};
  if (key.starts_with(woken)) return {kind::wake, behind(woken), {}};
  if (key.starts_with('%') && !key.starts_with("%2")) return {};
  const auto slash = keep_slashes_ ? key.rfind('/') : key.find('/');
  if (slash == key.npos) return {};
  return {kind::claim, key.substr(0, slash), key.substr(slash + 1)};
}

bool looks_like_a_claim(std::string_view rest) noexcept {
  const auto hexadecimal_digits = [](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  };
  const auto dash = rest.find('-');
  if (dash == rest.npos) return rest.size() <= 16 && hexadecimal_digits(rest);
  return dash <= 16 && rest.size() == dash + 33 && hexadecimal_digits(rest.substr(0, dash)) &&
         hexadecimal_digits(rest.substr(dash + 1));
}

}  // namespace interlock::inline v1::etcd_store
