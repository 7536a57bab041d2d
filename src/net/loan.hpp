// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/backend.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace interlock::inline v1::net {

/// Which connection is lent to a caller that reads for itself (backend::borrow_news and what follows it). The borrower
/// keeps it alive, and is the only one who calls the others.
template <class Connection>
class loan {
 public:
  /// -1: it is lent already, or there is nothing to lend.
  template <class Find>
  [[nodiscard]] int begin(const Find& find) noexcept {
    return begin_by([&](std::shared_ptr<Connection>& lent) {
      lent = find();
      return lent ? lent->borrow() : -1;
    });
  }
  /// The same for an owner that finds and borrows it in one go.
  template <class Borrow>
  [[nodiscard]] int begin_by(const Borrow& borrow) noexcept {
    if (is_lent_.exchange(true, std::memory_order_acquire)) return -1;
    const int fd = borrow(lent_);
    if (fd < 0) over();
    return fd;
  }
  [[nodiscard]] Connection& operator*() const noexcept { return *lent_; }
  [[nodiscard]] Connection* operator->() const noexcept { return lent_.get(); }
  [[nodiscard]] const std::shared_ptr<Connection>& lent() const noexcept { return lent_; }
  void end(backend::loan_end as) noexcept {
    lent_->give_back(as);
    over();
  }

 private:
  void over() noexcept {
    lent_ = nullptr;
    is_lent_.store(false, std::memory_order_release);
  }

  std::atomic<bool> is_lent_{false};
  std::shared_ptr<Connection> lent_;  // the borrower's, while there is one
};

}  // namespace interlock::inline v1::net
