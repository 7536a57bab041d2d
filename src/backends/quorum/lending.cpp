// SPDX-License-Identifier: MIT
#include "backends/quorum/lending.hpp"

#include "backends/quorum/quorum.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

namespace interlock::inline v1::quorum_store {
namespace {

constexpr int soon = 4;  // milliseconds, for which whoever wants to wake the caller cannot

}  // namespace

lending::~lending() {
  if (watch_ >= 0) ::close(watch_);
}

int lending::borrow() noexcept {
  if (is_lent_.exchange(true, std::memory_order_acquire)) return -1;
  if (watch_ < 0) watch_ = ::epoll_create1(EPOLL_CLOEXEC);
  for (unsigned i = 0; i < quorum_.size(); ++i)
    if (add(i))
      lent_ |= core::node_set::one(i);
    else
      quorum_.at(i).way()->flush();
  if (!lent_.empty()) return watch_;
  is_lent_.store(false, std::memory_order_release);
  return -1;
}

bool lending::add(unsigned node) noexcept {
  auto& way = *quorum_.at(node).way();
  const int fd = watch_ < 0 ? -1 : way.borrow_news();
  if (fd < 0) return false;
  auto& watched = watched_[node];
  if (watched == way.lent()) return true;
  watched.reset();  // closes it, if it was the last to know it, and so ends the watch
  epoll_event what{.events = EPOLLIN, .data = {.u32 = node}};
  if (::epoll_ctl(watch_, EPOLL_CTL_ADD, fd, &what) != 0 && errno != EEXIST) {
    way.return_news(backend::loan_end::others_wait);
    return false;
  }
  watched = way.lent();
  return true;
}

bool lending::read() noexcept {
  read_ready(0);
  return !lent_.empty();
}

backend::arrival lending::await() noexcept {
  if (!worth_waiting()) return backend::arrival::nothing;
  const bool some = read_ready(soon);
  return lent_.empty() ? backend::arrival::the_end : some ? backend::arrival::something : backend::arrival::nothing;
}

// While something is undecided, more nodes have to answer than may be missing. A node that is frozen does not make
// anybody wait here.
bool lending::worth_waiting() const noexcept {
  unsigned open = 0;
  for (unsigned i = 0; i < quorum_.size(); ++i)
    if (lent_.has(i) && watched_[i]->awaits_answer()) ++open;
  return open > quorum_.size() - quorum_.rules().needed;
}

bool lending::read_ready(int most_milliseconds) noexcept {
  std::array<epoll_event, core::most_nodes> ready{};
  const int count = ::epoll_wait(watch_, ready.data(), static_cast<int>(ready.size()), most_milliseconds);
  if (count <= 0) return false;
  reader_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  for (int i = 0; i < count; ++i) {
    const auto node = ready[static_cast<std::size_t>(i)].data.u32;
    if (lent_.has(node) && !quorum_.at(node).way()->read_news()) end(node, backend::loan_end::others_wait);
  }
  reader_.store({}, std::memory_order_relaxed);
  quorum_.flush();
  return true;
}

// Answers that nobody waits for any more are read with the next ones, or a little later by the loop.
void lending::give_back(backend::loan_end as) noexcept {
  const auto later = as == backend::loan_end::quiet ? backend::loan_end::back_soon : as;
  for (unsigned i = 0; i < quorum_.size(); ++i)
    if (lent_.has(i)) end(i, later);
  is_lent_.store(false, std::memory_order_release);
}

void lending::end(unsigned node, backend::loan_end as) noexcept {
  lent_ -= core::node_set::one(node);
  quorum_.at(node).way()->return_news(as);
}

inline_work lending::here() const noexcept {
  return reader_.load(std::memory_order_relaxed) == std::this_thread::get_id() ? inline_work::together
                                                                               : inline_work::if_brief;
}

}  // namespace interlock::inline v1::quorum_store
