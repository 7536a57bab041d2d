// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/connection.hpp"

namespace interlock::inline v1::redis_store {

/// Knows, before each connection, which server is the master now.
class locator {
 public:
  virtual ~locator() = default;
  /// `done` is called once, on the loop or at once, unless close() came before.
  virtual void find(unique_function<void(result<endpoint>)> done) = 0;
  virtual void close() noexcept {}
};

/// It never moves.
class fixed_locator final : public locator {
 public:
  explicit fixed_locator(endpoint where) : where_(std::move(where)) {}
  void find(unique_function<void(result<endpoint>)> done) override { done(where_); }

 private:
  endpoint where_;
};

}  // namespace interlock::inline v1::redis_store
