// SPDX-License-Identifier: MIT
#include "core/cell_watchers.hpp"

#include <utility>
#include <vector>

namespace interlock::inline v1::core {

struct cell_watchers::watcher final : subscription::source, std::enable_shared_from_this<watcher> {
  watcher(std::shared_ptr<list> in, std::function<void()> changed, std::function<void()> ended)
      : in_(std::move(in)), changed_(std::move(changed)), ended_(std::move(ended)) {}

  void tell() {
    const std::lock_guard held(mutex_);
    if (changed_) changed_();
  }
  void end() noexcept override {
    const auto self = shared_from_this();
    {
      const std::lock_guard held(in_->mutex);
      std::erase_if(in_->all, [&](const auto& one) { return one.second == self; });
    }
    {
      const std::lock_guard held(mutex_);
      changed_ = {};
    }
    if (auto last = std::exchange(ended_, {})) last();
  }

 private:
  std::shared_ptr<list> in_;
  std::recursive_mutex mutex_;  // held during the call, so that end() waits for it; a call may end itself
  std::function<void()> changed_, ended_;
};

subscription cell_watchers::add(std::string_view key, std::function<void()> changed, std::function<void()> ended) {
  auto one = std::make_shared<watcher>(list_, std::move(changed), std::move(ended));
  const std::lock_guard held(list_->mutex);
  list_->all.emplace(std::string(key), one);
  return subscription(one);
}

void cell_watchers::tell(std::string_view key) noexcept {
  std::vector<std::shared_ptr<watcher>> told;
  {
    const std::lock_guard held(list_->mutex);
    const auto range = list_->all.equal_range(key);
    for (auto one = range.first; one != range.second; ++one) told.push_back(one->second);
  }
  for (const auto& one : told) one->tell();
}

void cell_watchers::tell_all() noexcept {
  std::vector<std::shared_ptr<watcher>> told;
  {
    const std::lock_guard held(list_->mutex);
    for (const auto& [key, one] : list_->all) told.push_back(one);
  }
  for (const auto& one : told) one->tell();
}

bool cell_watchers::empty() const noexcept {
  const std::lock_guard held(list_->mutex);
  return list_->all.empty();
}

}  // namespace interlock::inline v1::core
