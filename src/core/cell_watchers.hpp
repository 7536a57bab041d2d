// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/info.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace interlock::inline v1::core {

/// Who wants to hear of changes, by cell or by channel. Any thread.
class cell_watchers {
 public:
  /// `ended` is called when the subscription has ended.
  subscription add(std::string_view key, std::function<void()> changed, std::function<void()> ended = {});
  void tell(std::string_view key) noexcept;
  void tell_all() noexcept;
  [[nodiscard]] bool empty() const noexcept;

 private:
  struct watcher;
  struct list {
    std::mutex mutex;
    std::multimap<std::string, std::shared_ptr<watcher>, std::less<>> all;
  };
  std::shared_ptr<list> list_ = std::make_shared<list>();
};

}  // namespace interlock::inline v1::core
