// SPDX-License-Identifier: MIT
#pragma once

#include "net/away.hpp"

#include <string>
#include <vector>

namespace interlock::inline v1::net {

/// Looks up a host's addresses, in the order they should be tried. Numbers are taken as they are; a name is looked up
/// on a thread of its own, because the system's resolver blocks.
class name_lookup {
 public:
  using addresses = result<std::vector<std::string>>;

  /// `done` is called on the loop, unless cancelled before.
  void start(const std::string& host, reactor& loop, unique_function<void(addresses)> done);
  void cancel() noexcept { away_.cancel(); }

 private:
  away<addresses> away_;
};

}  // namespace interlock::inline v1::net
