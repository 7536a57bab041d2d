// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/courier.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::redis_store::redisson {

/// The claims of this client that wait for a Redisson object, and the channels on which they are told to look again.
///
/// Redisson's own order: try, subscribe, try again. No news is lost in between: a channel's first waiter looks again
/// when its subscription is confirmed, and whoever is told to wait looks again if a message came since it had asked.
class waiters {
 public:
  waiters(courier& way, backend_events& events) : way_(way), events_(events) {}

  /// To be asked before a request is sent, and given back with its answer.
  [[nodiscard]] std::uint64_t heard(std::string_view channel);
  /// The answer was to wait. `more`: there is something left that another waiter might use. The caller has passed the
  /// answer on already.
  void wait(const std::string& channel, const claim_secret& who, std::uint64_t heard_before, bool more);
  /// It no longer waits. `took`: because it has what it waited for.
  void stop(std::string_view channel, const claim_secret& who, bool took);

  /// "0": one of us may look; "1", or what is no number: all of us.
  void message(std::string_view channel, std::string_view payload) noexcept;
  /// As many as there are permits.
  void permits(std::string_view channel, std::string_view payload) noexcept;

 private:
  struct waiter {
    claim_secret who{};
    bool woken = false;  // told to look, and not answered yet
  };
  struct place {
    std::vector<waiter> line;  // in order of arrival
    std::uint64_t heard = 0;
  };
  using places = std::map<std::string, place, std::less<>>;

  void wake(std::string_view channel, std::size_t most) noexcept;
  static void wake_next(place& here, std::size_t from, std::size_t most, std::vector<claim_secret>& out);

  courier& way_;
  backend_events& events_;
  std::atomic<std::size_t> count_{0};  // of places: nobody waits, no lock is needed
  std::mutex mutex_;
  std::uint64_t clock_ = 0;
  places places_;
};

}  // namespace interlock::inline v1::redis_store::redisson
