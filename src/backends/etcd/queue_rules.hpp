// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/claim_text.hpp"

#include <vector>

namespace interlock::inline v1::etcd_store {

/// One claim on a name, and how it stands.
struct place {
  key_value kv{};
  claim_text said{};  ///< of somebody else's program: a writer, with an id made from its key
  bool foreign = false;
  bool held = false;
};

/// All claims on a name in order of arrival. Who holds follows from the list alone, and so nobody has to write it down:
/// a claim is held if the weights up to and including it fit the capacity. The oldest writer holds; behind it nobody;
/// readers at the head hold together. That is what other programs do, too: they wait for every older key to go.
///
/// A reader that waits to be the only one lets nobody in who came after it began to.
class line {
 public:
  line() = default;
  explicit line(std::vector<key_value> keys);

  [[nodiscard]] const std::vector<place>& places() const noexcept { return places_; }
  [[nodiscard]] const place* find(const claim_id& id) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  /// A newcomer of this weight would hold at once.
  [[nodiscard]] bool admits(std::uint32_t weight, std::uint32_t capacity) const noexcept;
  /// Of a claim in the line: those waiting before it.
  [[nodiscard]] std::uint32_t waiting_before(const place& one) const noexcept;
  [[nodiscard]] std::uint32_t waiting() const noexcept;
  /// Somebody else holds, besides this one.
  [[nodiscard]] bool others_hold(const place& one) const noexcept;
  [[nodiscard]] bool other_upgrades(const place& one) const noexcept;
  /// What the name is used as; nothing if nobody uses it.
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  void settle();
  std::vector<place> places_;
  std::uint32_t capacity_ = 0;
  std::uint64_t used_ = 0;
  bool closed_ = false;
};

/// The fencing token of a claim as it is written; 0: a reader's, not known yet.
std::uint64_t token_of(const place& one) noexcept;

}  // namespace interlock::inline v1::etcd_store
