// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <memory>
#include <string>
#include <vector>

namespace interlock::inline v1::zookeeper_store {

/// Looks up a host's addresses. Numbers are taken as they are; a name is looked up on a thread of its own, because the
/// system's resolver blocks.
class name_lookup {
 public:
  name_lookup() = default;
  name_lookup(const name_lookup&) = delete;
  name_lookup& operator=(const name_lookup&) = delete;
  ~name_lookup() { cancel(); }

  /// `done` is called on the loop, unless cancelled before.
  void start(const std::string& host, reactor& loop, unique_function<void(result<std::vector<std::string>>)> done);
  void cancel() noexcept;

 private:
  struct errand;
  std::shared_ptr<errand> errand_;
};

}  // namespace interlock::inline v1::zookeeper_store
