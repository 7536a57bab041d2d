// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/wire.hpp"

#include <interlock/info.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace interlock::inline v1::etcd_store {

/// Which keys are whose.
///
///     <prefix><name>/<lease, hexadecimal>         a claim, as Go's concurrency package and etcdctl write it
///     <prefix><name>/<lease>-<id>                 a further claim of the same client on the same name
///     <prefix>%last/<name>                        written with every writer: its revision is the readers' token
///     <prefix>%tomb/<id>/<lease>                  keeps a late enter of this claim from taking effect
///     <prefix>%news/e/<id>, <prefix>%news/w/<name>  put and deleted at once: evicted; look again
///
/// A name is written with % as %25 and / as %2F, so that no name's keys are among another's: those of "a/b" would count
/// as waiters for "a". Hence no name begins with %l, %t or %n.
class keyring {
 public:
  keyring(std::string prefix, bool keep_slashes) : prefix_(std::move(prefix)), keep_slashes_(keep_slashes) {}

  /// As it stands in keys.
  [[nodiscard]] std::string written(std::string_view name) const;
  /// And back; nothing if no name is written so.
  [[nodiscard]] std::optional<std::string> read(std::string_view written) const;

  [[nodiscard]] std::string claim(std::string_view written, lease_id lease) const;
  [[nodiscard]] std::string claim(std::string_view written, lease_id lease, const claim_id& id) const;
  [[nodiscard]] key_range claims(std::string_view written) const;
  [[nodiscard]] std::string last(std::string_view written) const { return prefix_ + "%last/" + std::string(written); }
  [[nodiscard]] std::string tomb(const claim_id& id, lease_id lease) const;
  [[nodiscard]] key_range tombs(const claim_id& id) const;
  [[nodiscard]] std::string eviction(const claim_id& id) const { return prefix_ + "%news/e/" + to_string(id); }
  [[nodiscard]] std::string wake(std::string_view written) const { return prefix_ + "%news/w/" + std::string(written); }

  /// Everything that is ours, and everything ours that has to do with names beginning so.
  [[nodiscard]] key_range all() const { return beginning_with(prefix_); }
  [[nodiscard]] key_range names_beginning(std::string_view name) const {
    return beginning_with(prefix_ + written(name));
  }

  struct meaning {
    enum class kind : std::uint8_t { nothing, claim, eviction, wake };
    kind is = kind::nothing;
    std::string_view written{};  ///< claim, wake: the name
    std::string_view rest{};     ///< claim: behind the slash; eviction: the id
  };
  /// The views are of the key.
  [[nodiscard]] meaning of(std::string_view key) const;

 private:
  std::string prefix_;
  bool keep_slashes_;
};

std::string hexadecimal(lease_id lease);
/// As concurrency's and ours end: a lease, or a lease and an id.
bool looks_like_a_claim(std::string_view rest) noexcept;

}  // namespace interlock::inline v1::etcd_store
