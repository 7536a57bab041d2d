// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/link.hpp"

#include <interlock/clock.hpp>

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

namespace interlock::inline v1::etcd_store {

/// Sends transactions of different names together: while some are under way others gather, and go as one with each of
/// them nested in it. A lone one goes at once. They have no keys in common, so each does what it would have done alone;
/// if etcd refuses the whole because of one, nothing has happened, and they are sent one by one.
class bundler : public std::enable_shared_from_this<bundler> {
 public:
  bundler(std::shared_ptr<link> along, reactor& loop, const time_source& time)
      : link_(std::move(along)), loop_(loop), time_(time) {}

  void commit(std::string name, transaction what, inline_work here, completion<outcome> done);
  /// What was asked with inline_work::together.
  void flush();

 private:
  struct member {
    std::string name{};
    transaction what{};
    inline_work here = inline_work::never;
    completion<outcome> done{};
    std::size_t bytes = 0;
  };
  struct bundle;
  enum class whom : std::uint8_t { those_in_order, anybody /* some have waited for long enough */ };
  [[nodiscard]] std::vector<member> take(whom next);
  void send_next(whom which);
  void send(std::vector<member> all);
  void over(std::span<const std::string> names);
  void do_not_wait_long();

  const std::shared_ptr<link> link_;
  reactor& loop_;
  const time_source& time_;
  std::mutex mutex_;
  std::vector<member> waiting_;
  int under_way_ = 0;
  std::unordered_set<std::string> flying_;  // names of those
  bool alarm_ = false;
};

}  // namespace interlock::inline v1::etcd_store
