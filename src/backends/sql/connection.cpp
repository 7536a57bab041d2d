// SPDX-License-Identifier: MIT
#include "backends/sql/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>

/// Sending and receiving. Who waits where, and the end, is in connection_care.cpp.
namespace interlock::inline v1::sql {
namespace {

constexpr std::size_t most_questions = 128;  // in one message
constexpr milliseconds unsent_most{2};       // what a caller was to send is sent by the loop

}  // namespace

// ---- sending

void connection::submit(std::shared_ptr<errand> what, inline_work here) {
  bool post = false, in_time = false, refused = false;
  {
    const std::lock_guard lock(mutex_);
    if (dead_) {
      refused = true;
    } else {
      waiting_.push_back(whole(std::move(what)));
      if (here == inline_work::if_brief) {
        launch(borrowed_ ? reader::others : reader::asker);
      } else if (!under_way_ && here == inline_work::together) {
        in_time = !std::exchange(in_time_, true);
      } else if (!under_way_) {
        post = !std::exchange(posted_, true);
      }
      // Who asks so does not come for the answer; who asks for more flushes, and it is seen to then.
      if (here == inline_work::never && !borrowed_) gate_.read(true);
    }
  }
  if (refused) return whole(std::move(what)).fail(failure(errc::unavailable, place_.shown + ": not connected"));
  if (post)
    loop_.post([self = shared_from_this()] {
      const std::lock_guard lock(self->mutex_);
      self->posted_ = false;
      self->launch();
    });
  if (in_time)  // whoever left something to be sent may be kept by other work
    loop_.call_at(time_.now() + unsent_most, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->flush_left();
    });
}

void connection::flush_left() noexcept {
  const std::lock_guard lock(mutex_);
  in_time_ = false;
  launch();
  if (under_way_ && !borrowed_) gate_.read(true);
}

// [mutex_] The next message, if none is under way.
void connection::launch(reader then) {
  if (dead_ || under_way_ || paused_ || waiting_.empty()) return;
  under_way_ = spare_ ? std::move(spare_) : std::make_unique<flight>();
  auto& next = *under_way_;
  load(next);
  next.sent = time_.now();
  if (!with_->send(next)) ::shutdown(socket_, SHUT_RDWR);  // whoever reads finds the end of the story
  push(then);
  watch_deadline();
}

// [mutex_] As many questions as fit; sorted by name, so that no two messages wait for each other's names.
void connection::load(flight& with) {
  std::size_t total = 0;
  while (!waiting_.empty()) {
    auto& front = waiting_.front();
    const bool alone = front.alone || front.of->is_statement();
    if (!with.parcels.empty() && (alone || total + front.count > most_questions)) break;
    total += front.count;
    for (std::size_t i = 0; i < front.count; ++i) with.order.push_back({with.parcels.size(), front.first + i});
    with.parcels.push_back(std::move(front));
    waiting_.pop_front();
    if (alone) break;
  }
  const auto name = [&](const flight::seat& at) { return with.at(at).about.name; };
  if (total > 1)
    std::stable_sort(with.order.begin(), with.order.end(),
                     [&](const flight::seat& left, const flight::seat& right) { return name(left) < name(right); });
}

// [mutex_] What cannot be sent now is sent when the socket has room. Where a server shares its core with us, it may
// have answered before the library is done with sending, and then nobody is told by the socket. Whoever asked and comes
// for the answer finds it; it is looked after, should they stay away. Waking the loop for it would take longer than all
// the rest.
void connection::push(reader then) {
  gate_.write(with_->flush());
  const bool answered = with_->answered();
  at_hand_.store(answered || with_->is_patient(), std::memory_order_relaxed);
  if (!answered) return;
  if (then == reader::others)
    return loop_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) static_cast<void>(self->read_borrowed());
    });
  if (!std::exchange(attending_, true)) attend();
}

// ---- receiving

// [reading_]
backend::arrival connection::read(patience how) noexcept {
  message landed;
  std::vector<std::string> news;
  bool alive = false;
  std::string why;
  {
    std::unique_lock lock(mutex_);
    if (dead_) return backend::arrival::the_end;
    if (empty_ && !spare_) spare_ = std::move(empty_);
    alive = take(lock, how, landed, news);
    if (!alive) why = with_->last_words();
  }
  for (const auto& one : news)
    if (!muted_.load()) owner_.notified(one);
  const bool came = landed || !news.empty();
  if (landed) {
    if (!muted_.load()) land(*landed);
    landed->clear();
    empty_ = std::move(landed);
  }
  if (alive && !ending_) return came ? backend::arrival::something : backend::arrival::nothing;
  drop(ending_ ? *ending_ : lost(why), true);
  return backend::arrival::the_end;
}

// [mutex_] What has arrived. A message is over when the server is ready for the next: only then its transaction is
// committed, and what it said before may still be taken back by an error. false: the connection is broken.
bool connection::take(std::unique_lock<core::brief_mutex>& lock, patience how, message& landed,
                      std::vector<std::string>& news) {
  const bool waits = how == patience::some && under_way_ && !gate_.writes();
  if (waits) lock.unlock();  // others go on asking
  const auto got = with_->receive(under_way_.get(), news, waits ? patience::some : patience::none);
  if (waits) lock.lock();
  if (got == session::progress::over) {
    landed = std::move(under_way_);
    at_hand_.store(false, std::memory_order_relaxed);
    if (!landed->wrong) launch();  // otherwise it is decided first what has to be repeated
  }
  return got != session::progress::broken;
}

// [reading_] Hands the answers to those who asked.
void connection::land(flight& one) {
  if (one.wrong) return refuse(one);
  if (one.statement() != nullptr) return one.parcels.front().of->read(one.result_of_statement());
  if (one.replies.size() != one.order.size()) {
    for (auto& each : one.parcels) each.fail(failure(errc::internal, "the lock tables' function gave another answer"));
    return;
  }
  for (std::size_t row = 0; row < one.order.size(); ++row) {
    const auto& at = one.order[row];
    one.parcels[at.parcel].of->replies[at.question] = one.replies[row];
  }
  for (auto& each : one.parcels) each.arrived();
}

// [reading_] Its transaction was rolled back: nothing has happened.
void connection::refuse(flight& one) {
  const auto& wrong = *one.wrong;
  const failure shown(wrong.why.kind(), place_.shown + ": " + wrong.why.message());
  if (wrong.after_the_end) {
    ending_ = shown;
    for (auto& each : one.parcels) each.fail(failure(errc::indeterminate, shown.message()));
    return;
  }
  const bool again = one.parcels.front().tries + 1 < wrong.tries;
  const bool split = one.order.size() > 1 && !wrong.ends;
  if (!again && !split) {
    if (wrong.ends) ending_ = shown;
    for (auto& each : one.parcels) each.fail(shown);
    const std::lock_guard lock(mutex_);
    return launch();
  }
  std::vector<parcel> next;
  for (auto& each : one.parcels) {
    ++each.tries;
    if (again) {
      next.push_back(std::move(each));
      continue;
    }
    for (std::size_t i = 0; i < each.count; ++i)  // the next ones must not suffer for one of them
      next.push_back({.of = each.of, .first = each.first + i, .count = 1, .tries = 0, .alone = true});
  }
  const auto tries = again ? next.front().tries : 0;
  repeat(std::move(next));
  if (again) return pause(tries);
  const std::lock_guard lock(mutex_);
  launch();
}

// [reading_] Before all others, in the order they were.
void connection::repeat(std::vector<parcel> again) {
  const std::lock_guard lock(mutex_);
  if (again.front().tries > 0) paused_ = true;
  waiting_.insert(waiting_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
}

}  // namespace interlock::inline v1::sql
