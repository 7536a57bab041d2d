// SPDX-License-Identifier: MIT
#pragma once

#include "backends/quorum/quorum.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace interlock::inline v1::quorum_store {

/// One question to every node, and what they answer: complete, or whatever there is when patience is over.
template <class T>
class gathering final : public alarm, public std::enable_shared_from_this<gathering<T>> {
 public:
  static constexpr milliseconds patience{1'500};          // less than the engine's own
  using answers = std::vector<std::optional<result<T>>>;  // by node; nothing: it did not answer

  gathering(std::shared_ptr<quorum> at, std::function<void(answers)> done)
      : quorum_(std::move(at)), done_(std::move(done)), got_(quorum_->size()), open_(quorum_->size()) {}

  /// `ask(node, completion)` for each.
  template <class Ask>
  void start(Ask ask) {
    quorum_->at(quorum_->now() + patience, this->weak_from_this());
    for (unsigned i = 0; i < quorum_->size(); ++i)
      ask(i, completion<T>([self = this->shared_from_this(), i](result<T> got) { self->take(i, std::move(got)); }));
  }

  void ring(instant) override {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(open_, 0) == 0) return;
    }
    done_(std::move(got_));
  }

 private:
  void take(unsigned node, result<T> got) {
    {
      const std::lock_guard lock(mutex_);
      if (open_ == 0) return;
      got_[node].emplace(std::move(got));
      if (--open_ > 0) return;
    }
    done_(std::move(got_));
  }

  const std::shared_ptr<quorum> quorum_;
  std::function<void(answers)> done_;
  std::mutex mutex_;
  answers got_;
  std::size_t open_;
};

}  // namespace interlock::inline v1::quorum_store
