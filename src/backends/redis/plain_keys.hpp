// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Which keys a lock has in the plain layout, and how a claim is spelt in them.
namespace interlock::inline v1::redis_store {

/// A key with a `*` in it, which stands for the lock's name.
class key_template {
 public:
  static result<key_template> parse(std::string_view option, std::string_view text);

  [[nodiscard]] std::string key(std::string_view name) const;
  /// Appended.
  void key(std::string& to, std::string_view name) const;
  /// In `room`, unless the name itself is the key.
  [[nodiscard]] std::string_view key(std::string_view name, std::string& room) const {
    if (before_.empty() && after_.empty()) return name;
    room.clear();
    key(room, name);
    return room;
  }
  /// The name a key is made from; nothing: it is no key of this template.
  [[nodiscard]] std::optional<std::string_view> name(std::string_view key) const noexcept;
  /// A pattern of SCAN for all keys whose name begins so.
  [[nodiscard]] std::string pattern(std::string_view prefix) const;

 private:
  std::string before_, after_;
};

/// Interlock's own keys begin with this; no lock's may.
inline constexpr std::string_view own_keys = "ilk1:";

/// A key or channel of our own beside a lock's key, in the same slot of a cluster. `what` is a letter: c the companion,
/// a hash that holds what peers know nothing of; m the mark, which is there while a release finds something to do in
/// the companion; n the channel on which a release is told.
std::string beside(std::string_view key, char what);
/// Appended.
void beside(std::string& to, std::string_view key, char what);

/// What is written as the lock's value: the claim's secret, as 32 hexadecimal digits.
std::array<char, 32> value_of(const claim_secret& secret) noexcept;
std::optional<claim_secret> secret_of(std::string_view value) noexcept;
/// How a holder is known to those who look, whoever wrote the value.
claim_id id_of(std::string_view value) noexcept;

}  // namespace interlock::inline v1::redis_store
