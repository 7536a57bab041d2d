// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/layout.hpp"

#include <memory>

namespace interlock::inline v1::redis_store {

/// Any layout, believed only after replicas have confirmed it (`replicas=n`). A grant is looked at again over a second
/// connection and followed by WAIT there: WAIT holds up everything behind it, and releases must not wait.
///
/// A grant that too few replicas confirm in time is taken back, and the caller is told that it was not granted.
struct confirmation {
  int replicas = 1;
  milliseconds patience{500};
};
/// `inner` talks over the ordinary connection, `witness` is the same layout over the second one, `way`. Cells alone are
/// written by the witness: what it learned of claims, `inner` would not know.
std::unique_ptr<layout> make_replicated_layout(std::unique_ptr<layout> inner, std::unique_ptr<layout> witness,
                                               courier& way, const confirmation& wanted);

/// What the store tells a replicated layout's owner: a grant that is pushed is only a reason to look.
class cautious_events final : public backend_events {
 public:
  explicit cautious_events(backend_events& to) noexcept : to_(to) {}
  void granted(const claim_secret& who, const standing&) noexcept override { to_.look_again(who); }
  void look_again(const claim_secret& who) noexcept override { to_.look_again(who); }
  void evicted(const claim_secret& who) noexcept override { to_.evicted(who); }
  void link(bool up) noexcept override { to_.link(up); }
  void another_server() noexcept override { to_.another_server(); }

 private:
  backend_events& to_;
};

/// For the second connection: whatever it has to tell, the first one tells.
class silent_events final : public backend_events {
 public:
  void granted(const claim_secret&, const standing&) noexcept override {}
  void look_again(const claim_secret&) noexcept override {}
  void evicted(const claim_secret&) noexcept override {}
  void link(bool) noexcept override {}
  void another_server() noexcept override {}
};

}  // namespace interlock::inline v1::redis_store
