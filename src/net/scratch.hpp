// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace interlock::inline v1::net {

/// A text to build a message in, empty at first. Its memory is this thread's, for the next one: what is sent all the
/// time is built without allocating anything.
class scratch {
 public:
  scratch() {
    if (spare().empty()) return;
    text_ = std::move(spare().back());
    spare().pop_back();
    text_.clear();
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    if (spare().size() < most && text_.capacity() <= largest) spare().push_back(std::move(text_));
  }
  [[nodiscard]] std::string& operator*() noexcept { return text_; }

 private:
  static constexpr std::size_t most = 4, largest = 64 * 1024;
  static std::vector<std::string>& spare() {
    thread_local std::vector<std::string> kept;
    return kept;
  }

  std::string text_;
};

}  // namespace interlock::inline v1::net
