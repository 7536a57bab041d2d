// SPDX-License-Identifier: MIT
#include "testing/fault_link.hpp"

#include <signal.h>

#include <stdexcept>
#include <utility>

namespace interlock::inline v1::testing {

namespace {
std::size_t index(request kind) noexcept { return static_cast<std::size_t>(kind); }
}  // namespace

fault_link::~fault_link() { close(); }

void fault_link::cut() {
  const std::lock_guard held(mutex_);
  state_ = state::cut;
}

void fault_link::refuse() {
  backend_events* tell = nullptr;
  {
    const std::lock_guard held(mutex_);
    if (std::exchange(state_, state::refusing) != state::refusing) tell = events_;
  }
  if (tell != nullptr) tell->link(false);
}

void fault_link::heal() {
  backend_events* tell = nullptr;
  std::vector<unique_function<void()>> broken;
  {
    const std::lock_guard held(mutex_);
    if (std::exchange(state_, state::up) == state::refusing) tell = events_;
    broken.swap(stranded_);
  }
  for (auto& fail : broken) later(milliseconds{0}, std::move(fail));
  if (tell != nullptr) tell->link(true);
}

void fault_link::lose_requests(request kind, unsigned count) {
  const std::lock_guard held(mutex_);
  scripts_[index(kind)].lose_requests = count;
}

void fault_link::lose_replies(request kind, unsigned count) {
  const std::lock_guard held(mutex_);
  scripts_[index(kind)].lose_replies = count;
}

void fault_link::delay_replies(request kind, milliseconds by, unsigned count) {
  const std::lock_guard held(mutex_);
  scripts_[index(kind)].delays = count;
  scripts_[index(kind)].late = by;
}

void fault_link::hold_back_enters(unsigned count) {
  const std::lock_guard held(mutex_);
  scripts_[index(request::enter)].hold_back = count;
}

void fault_link::hold_back_cell_writes(unsigned count) {
  const std::lock_guard held(mutex_);
  scripts_[index(request::cell_write)].hold_back = count;
}

void fault_link::let_late_enters_arrive() {
  std::vector<unique_function<void()>> late;
  {
    const std::lock_guard held(mutex_);
    late.swap(held_back_);
  }
  for (auto& send : late) send();
}

void fault_link::treat_pushes(pushes how) {
  const std::lock_guard held(mutex_);
  pushes_ = how;
}

unsigned fault_link::sent(request kind) const {
  const std::lock_guard held(mutex_);
  return scripts_[index(kind)].sent;
}

std::vector<fault_link::entered_claim> fault_link::entered() const {
  const std::lock_guard held(mutex_);
  return entered_;
}

std::vector<claim_secret> fault_link::granted() const {
  const std::lock_guard held(mutex_);
  return granted_;
}

std::vector<claim_secret> fault_link::told_to_look() const {
  const std::lock_guard held(mutex_);
  return told_;
}

backend& fault_link::store() const {
  const std::lock_guard held(mutex_);
  if (store_ == nullptr) throw std::logic_error("this link is not connected");
  return *store_;
}

fault_link::fate fault_link::judge(request kind) {
  const std::lock_guard held(mutex_);
  auto& plan = scripts_[index(kind)];
  ++plan.sent;
  if (state_ == state::refusing) return {fate::kind::refused};
  if (state_ == state::cut) return {fate::kind::cut_off};
  const auto take = [](unsigned& count) { return count > 0 && count-- > 0; };
  if (take(plan.lose_requests)) return {fate::kind::request_lost};
  if (take(plan.lose_replies)) return {fate::kind::reply_lost};
  if (take(plan.hold_back)) return {fate::kind::held_back};
  if (take(plan.delays)) return {fate::kind::reply_late, plan.late};
  return {};
}

bool fault_link::reply_vanishes() const {
  const std::lock_guard held(mutex_);
  return closed_ || state_ == state::cut;
}

void fault_link::note_enter(const claim& who) {
  const std::lock_guard held(mutex_);
  entered_.push_back({std::string(who.name), who.secret, who.mode});
}

fault_link::pushes fault_link::note_push(const claim_secret* granted_to, const claim_secret* told) {
  const std::lock_guard held(mutex_);
  if (granted_to != nullptr) granted_.push_back(*granted_to);
  if (told != nullptr) told_.push_back(*told);
  return state_ == state::up && !closed_ ? pushes_ : pushes::drop;
}

// Kept, not destroyed: a completion owns what its request needs, and the request may still be under way.
void fault_link::bury(unique_function<void()> never_called) {
  const std::lock_guard held(mutex_);
  if (!closed_) buried_.push_back(std::move(never_called));
}

void fault_link::strand(unique_function<void()> fail) {
  const std::lock_guard held(mutex_);
  if (closed_) return;
  stranded_.push_back(std::move(fail));
}

void fault_link::hold_back(unique_function<void()> send) {
  const std::lock_guard held(mutex_);
  if (!closed_) held_back_.push_back(std::move(send));
}

void fault_link::later(milliseconds by, unique_function<void()> work) {
  const std::lock_guard held(mutex_);
  if (closed_) return;
  due_.emplace(std::chrono::steady_clock::now() + by, std::move(work));
  if (!courier_.joinable()) courier_ = std::thread([me = shared_from_this()] { me->run_courier(); });
  news_.notify_all();
}

void fault_link::run_courier() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the test's, as in every thread of the library
  std::unique_lock held(mutex_);
  while (!closed_) {
    if (due_.empty()) {
      news_.wait(held);
    } else if (const auto first = due_.begin()->first; first > std::chrono::steady_clock::now()) {
      news_.wait_until(held, first);
    } else {
      auto work = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      held.unlock();
      work();
      held.lock();
    }
  }
}

void fault_link::attach(backend* store, backend_events* events) {
  const std::lock_guard held(mutex_);
  store_ = store;
  events_ = events;
}

void fault_link::close() noexcept {
  std::vector<unique_function<void()>> dropped, dropped_too, dropped_as_well;
  decltype(due_) late;
  {
    const std::lock_guard held(mutex_);
    closed_ = true;
    store_ = nullptr;
    events_ = nullptr;
    dropped.swap(buried_);
    dropped_too.swap(held_back_);
    dropped_as_well.swap(stranded_);
    late.swap(due_);
    news_.notify_all();
  }
  if (!courier_.joinable()) return;
  if (courier_.get_id() == std::this_thread::get_id())
    courier_.detach();  // a late reply let go of the client's last handle
  else
    courier_.join();
}

}  // namespace interlock::inline v1::testing
