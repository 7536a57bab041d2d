// SPDX-License-Identifier: MIT
#pragma once

#include <stop_token>
#include <utility>

namespace interlock::inline v1 {

/// Fires when either does: "lost, or shutting down". Lives as long as you need its token.
class stop_either {
 public:
  stop_either(std::stop_token first, std::stop_token second)
      : first_(std::move(first), forward{&source_}), second_(std::move(second), forward{&source_}) {}
  stop_either(const stop_either&) = delete;
  stop_either& operator=(const stop_either&) = delete;

  [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  struct forward {
    std::stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<forward> first_;
  std::stop_callback<forward> second_;
};

}  // namespace interlock::inline v1
