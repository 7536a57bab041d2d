// SPDX-License-Identifier: MIT
#include "backends/redis/connection.hpp"

#include <sys/epoll.h>

#include <utility>

/// One question and its answer, past the outbox: for a caller that waits for it while nothing else is under way. It
/// begins in accept_locked() and ends in finish_exchange(), on one thread, which has the right to read all the while.
/// Whatever comes between them, another request, a deadline, a push, an error, or no answer within the time that the
/// caller has, puts the question into the outbox, as sent: from there on it is one like all others.
namespace interlock::inline v1::redis_store {

// [mutex_] true: reading_ is locked.
inline bool connection::may_exchange(const script* called) noexcept {
  const bool idle = out_.empty() && !borrowed_ && !corked_ && !flush_posted_ && exchange_.done == nullptr;
  if (!idle || settings_.tls || (watched_ & EPOLLOUT) != 0 || (called != nullptr && !out_.is_known(called)))
    return false;
  // The other way round than usual, hence no waiting: whoever reads just now may be about to lock mutex_.
  if (!reading_.try_lock()) return false;
  if (in_used_ == 0 && !muted_.load(std::memory_order_relaxed)) [[likely]]
    return true;
  reading_.unlock();
  return false;
}

bool connection::exchanges(const packet& what, inline_work here, reply_handler& done) {
  return may_exchange(what.called()) && begin_exchange(what.bytes(), what.called(), here, done);
}

bool connection::exchanges(const short_call& what, inline_work here, reply_handler& done) {
  if (!may_exchange(what.called)) return false;
  auto& text = exchange_.text;
  text.clear();
  text.append(what.called->usual_head);
  text.argument(what.key);
  text.argument(what.argument);
  return begin_exchange(text.view(), what.called, here, done);
}

// [mutex_, reading_] false: nothing was sent, and reading_ is unlocked.
bool connection::begin_exchange(std::string_view bytes, const script* called, inline_work here, reply_handler& done) {
  const auto now = time_.now();
  const auto moved = stream_->write(bytes.data(), bytes.size());
  if (moved.bytes == 0) [[unlikely]] {
    reading_.unlock();
    return false;
  }
  exchange_.done = &done;
  exchange_.bytes = bytes;
  exchange_.called = called;
  exchange_.written = moved.bytes;
  exchange_.sent = now;
  exchange_.soon = here == inline_work::with_answer_soon;
  borrowed_ = busy_ = true;
  watch_in(watched_ & ~unsigned{EPOLLIN});
  watch_deadline(now + settings_.timeout);
  if (moved.bytes < bytes.size()) [[unlikely]] {
    leave_exchange();
    flush_locked();
  }
  return true;
}

// [reading_] The rest of it: the answer is read, and given to whoever asked.
void connection::finish_exchange() noexcept {
  // Nobody but this thread begins one while it has the right to read.
  const auto moved =
      exchange_.soon ? stream_->read_soon(in_.data(), in_.size()) : stream_->read_at_last(in_.data(), in_.size());
  const auto simple = [](const reply& what) {
    return what.is() == reply::kind::number || what.is() == reply::kind::text || what.is() == reply::kind::nil;
  };
  const bool whole = moved.bytes > 0 && parser_.parse({in_.data(), moved.bytes}) == reply_parser::outcome::complete &&
                     parser_.used() == moved.bytes && simple(parser_.value());
  reply_handler* done = nullptr;
  bool call = false;
  {
    const std::lock_guard lock(mutex_);
    if (whole && !muted_.load(std::memory_order_relaxed)) [[likely]]
      done = std::exchange(exchange_.done, nullptr);
    if (done != nullptr) [[likely]] {  // so nothing else is under way: the gate stays shut, as give_back() leaves it
      borrowed_ = false;
      call = !std::exchange(attending_, true);
    } else {
      leave_exchange();
    }
  }
  if (done != nullptr) [[likely]] {
    (*done)(parser_.value());
    reading_.unlock();
    if (call) [[unlikely]]
      attend();
    return;
  }
  in_used_ = moved.bytes;
  if (moved.is == net::stream::progress::ended)
    drop(why_ended(), true);
  else if (moved.bytes > 0)
    take_replies();
  reading_.unlock();
  give_back(backend::loan_end::others_wait);
}

void connection::give_up_exchange() {
  auto& done = *std::exchange(exchange_.done, nullptr);
  out_.push({.called = exchange_.called, .sent = exchange_.sent}, exchange_.bytes, std::move(done));
  out_.sent(exchange_.written);
}

}  // namespace interlock::inline v1::redis_store
