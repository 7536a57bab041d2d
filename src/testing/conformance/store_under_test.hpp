// SPDX-License-Identifier: MIT
#pragma once

#include "testing/fault_link.hpp"

#include <interlock/client.hpp>
#include <interlock/testing/conformance.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::testing {

/// A client and the breakable way to its store.
struct peer {
  client locks;
  std::shared_ptr<fault_link> link;
};

/// The store a test runs against.
class store_under_test {
 public:
  explicit store_under_test(std::unique_ptr<harness> from);

  /// Each one is another host.
  client connect(client_options options = {});
  peer join(client_options options = {});
  /// Asks the store itself, not the clients under test, whether anybody holds the name.
  bool peek(std::string_view name);
  /// Removes the holders' records behind everybody's back.
  void steal(std::string_view name);

  /// Who holds and waits, as a host that takes no part sees it.
  lock_info inspect(std::string_view name) const { return onlooker_.locks.inspect(name); }
  /// How many wait for it; where the store knows nothing of them, how many have ever asked beside the holder.
  std::size_t waiting(std::string_view name);
  /// Nobody holds or waits for anything; of these names, if the store cannot list all.
  bool empty(std::initializer_list<std::string_view> names);
  std::vector<lock_info> survey(std::string_view prefix = {}) const { return onlooker_.locks.survey(prefix); }
  const client& onlooker() const noexcept { return onlooker_.locks; }
  /// The store's backend, past client and engine.
  backend& waist() const { return onlooker_.link->store(); }
  fault_link& waist_link() const noexcept { return *onlooker_.link; }

  const store_traits& traits() const noexcept { return onlooker_.locks.traits(); }
  std::string url() const { return harness_->url(); }
  /// As short as this store can do, for tests in which a lease must run out.
  milliseconds short_lease() const;

 private:
  void remember(const std::shared_ptr<fault_link>& link);

  std::unique_ptr<harness> harness_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<fault_link>> links_;
  peer onlooker_;
};

/// All registered stores, by name. Asked when GoogleTest starts up, not before.
std::vector<std::string> registered_stores();
std::unique_ptr<harness> make_harness(const std::string& store);

}  // namespace interlock::inline v1::testing
