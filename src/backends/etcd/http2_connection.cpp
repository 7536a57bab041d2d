// SPDX-License-Identifier: MIT
#include "backends/etcd/http2_connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

/// Sending, receiving, and the end. How it comes up is in http2_connection_open.cpp.
namespace interlock::inline v1::etcd_store {
namespace {

using progress = net::stream::progress;

constexpr milliseconds ping_pause{5};    // before the server's is answered along with something else
constexpr milliseconds unsent_most{20};  // before what nobody has asked for goes out by itself
constexpr milliseconds attendance{5};    // a socket that callers read themselves is looked after this often
constexpr std::size_t most_by_the_way = 64 << 10;
constexpr int most_tries = 8;  // to read an answer that comes in pieces, and among other things

}  // namespace

http2_connection::http2_connection(endpoint where, std::shared_ptr<const etcd_settings> settings, reactor& loop,
                                   const time_source& time, owner& of)
    : where_(std::move(where)), settings_(std::move(settings)), loop_(loop), time_(time), owner_(of) {}

http2_connection::~http2_connection() {
  bytes_.reset();
  if (socket_ >= 0) ::close(socket_);
}

failure http2_connection::lost(const std::string& why) const {
  return failure(errc::unavailable, where_.shown() + ": " + why);
}

// ---- sending

bool http2_connection::begin(const exchange_ptr& what, std::string& message, const std::string& token,
                             inline_work here) {
  const std::lock_guard lock(mutex_);
  if (state_ == state::dead || leaving_) return false;
  auto& now = what->now_;
  now = {};
  now.token = token;
  now.over = false;
  what->goes_along(weak_from_this());
  if (state_ != state::up)
    early_.push_back(what);
  else if (!open(what))
    return false;
  now.unsent = std::move(message);
  if (what->kind_ == exchange::kind::one_question) {
    now.due = time_.now() + settings_->timeout;
    dues_.push_back(what);
    watch_deadline();
  }
  if (state_ == state::up && !corked_) flush(hurry::yes);
  if (here != inline_work::if_brief && !borrowed_) gate_.read(true);  // who asks so does not come for the answer
  return true;
}

// [mutex_]
bool http2_connection::open(const exchange_ptr& what) {
  what->now_.begin = flushed_ + out_.size();
  if (session_->open(what)) return true;
  leaving_ = true;  // the numbers of streams are used up
  what->now_.over = true;
  return false;
}

void http2_connection::say(exchange& what, std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (what.now_.over || state_ == state::dead) return;
  what.now_.unsent += message;
  if (state_ != state::up) return;
  session_->resume(what);
  if (!corked_) flush(hurry::yes);
  if (!borrowed_) gate_.read(true);
}

void http2_connection::cancel(const exchange_ptr& what) {
  const std::lock_guard lock(mutex_);
  if (what->now_.over || state_ == state::dead) return;
  what->now_.over = true;
  std::erase(early_, what);
  if (session_) session_->cancel(*what);
  left_.push_back({what, {}, call_end{.words = "cancelled"}});
  tell_later();
  if (!corked_) flush(hurry::yes);
}

// [mutex_]
void http2_connection::tell_later() {
  loop_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard reading(self->reading_);
    std::vector<http2_session::news> left;
    {
      const std::lock_guard lock(self->mutex_);
      left = std::exchange(self->left_, {});
      self->corked_ = true;
    }
    self->tell(left);
  });
}

// [mutex_] Without hurry, what only keeps the connection going waits for the next thing that is said. What cannot be
// sent now is sent when the socket has room. A broken socket is left to whoever reads.
void http2_connection::flush(hurry how) {
  if (state_ == state::dead || !session_) return;
  if (session_->owes_answers() && owed_since_ + ping_pause <= time_.now()) session_->answer_pings();
  const auto before = out_.size();
  const bool asked_for = session_->produce(out_);
  if (session_->has_news()) {
    for (auto& one : session_->take_news()) left_.push_back(std::move(one));
    tell_later();
  }
  if (!asked_for) by_the_way_ += out_.size() - before;
  if (how == hurry::no && !asked_for && out_.size() == by_the_way_ && by_the_way_ <= most_by_the_way)
    return send_in_time();
  while (!out_.empty()) {
    const auto sent = bytes_->write(out_.data(), out_.size());
    if (sent.is == progress::ended) {
      ::shutdown(socket_, SHUT_RDWR);
      return gate_.read(true);
    }
    if (sent.is != progress::done) {
      if (by_the_way_ > most_by_the_way) ::shutdown(socket_, SHUT_RDWR);  // it asks for answers and does not take them
      return sent.is == progress::wants_write ? gate_.write(true) : gate_.read(true);
    }
    flushed_ += sent.bytes;
    out_.erase(0, sent.bytes);
  }
  by_the_way_ = 0;
  gate_.write(false);
  if (session_->owes_answers()) send_in_time();
}

// [mutex_]
void http2_connection::send_in_time() {
  if ((out_.empty() && !session_->owes_answers()) || std::exchange(in_time_, true)) return;
  loop_.call_at(time_.now() + unsent_most, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard lock(self->mutex_);
    self->in_time_ = false;
    if (!self->corked_) self->flush(hurry::yes);
  });
}

// ---- receiving

void http2_connection::turn() noexcept {
  const std::lock_guard reading(reading_);
  {
    const std::lock_guard lock(mutex_);
    if (state_ == state::dead) return;
    if (gate_.writes()) flush(hurry::yes);
    if (borrowed_) return;
  }
  static_cast<void>(read(patience::none));
}

// [reading_] With some patience: waits for it a few milliseconds, where that costs nothing.
backend::arrival http2_connection::read(patience with) noexcept {
  char room[16384];
  auto out = backend::arrival::nothing;
  for (bool again = true; again;) {
    {
      const std::lock_guard lock(mutex_);
      if (state_ == state::dead) return backend::arrival::the_end;
    }
    const auto got = with == patience::some && out == backend::arrival::nothing ? bytes_->read_soon(room, sizeof room)
                                                                                : bytes_->read(room, sizeof room);
    if (got.is == progress::ended) {
      drop(lost(bytes_->reason()));
      return backend::arrival::the_end;
    }
    if (got.is == progress::wants_write) {  // TLS has something to say before it can go on
      const std::lock_guard lock(mutex_);
      gate_.write(true);
    }
    if (got.bytes == 0) return out;
    out = backend::arrival::something;
    take({room, got.bytes});
    again = settings_->tls || got.bytes == sizeof room;
  }
  return out;
}

// [reading_] What it makes us send goes out in one piece.
void http2_connection::take(std::string_view bytes) {
  std::vector<http2_session::news> arrived;
  bool sense = false, up = false, left = false;
  {
    const std::lock_guard lock(mutex_);
    const bool owed = session_->owes_answers();
    sense = session_->receive(bytes);
    if (!owed && session_->owes_answers()) owed_since_ = time_.now();
    arrived = session_->take_news();
    heard_ = true;
    up = state_ == state::greeting && session_->greeted();
    leaving_ = leaving_ || session_->leaving();
    left = leaving_ && !std::exchange(left_told_, true);
    if (up) greeted();
    corked_ = true;
  }
  if (up) owner_.up(*this);
  if (left) owner_.leaving(*this);
  tell(arrived);
  if (!sense) drop(lost(session_->wrong()));
}

// [reading_], corked
void http2_connection::tell(std::vector<http2_session::news>& all) noexcept {
  for (auto& one : all) try {
      if (!one.end)
        one.of->came(one.message);
      else
        one.of->ended(*one.end);
      if (one.end && one.of->kind_ == exchange::kind::one_question) ++answers_;
    } catch (...) {  // there is nobody to tell, and others are to be told
    }
  all.clear();
  bool over = false;
  {
    const std::lock_guard lock(mutex_);
    corked_ = false;
    if (state_ == state::dead) return;
    flush(hurry::no);
    over = leaving_ && idle();
  }
  if (over) drop(lost("it takes no more calls"));
}

// ---- callers that read for themselves

int http2_connection::borrow() noexcept {
  const std::lock_guard lock(mutex_);
  if (borrowed_ || state_ != state::up) return -1;
  borrowed_ = busy_ = true;
  gate_.read(false);
  return socket_;
}

bool http2_connection::read_borrowed() noexcept {
  const std::lock_guard reading(reading_);
  return read(patience::none) != backend::arrival::the_end;
}

backend::arrival http2_connection::await_borrowed() noexcept {
  const std::lock_guard reading(reading_);  // from here on nobody else takes the answer that we wait for
  {
    const std::lock_guard lock(mutex_);
    while (!dues_.empty() && dues_.front()->now_.over) dues_.pop_front();
    if (state_ != state::dead && dues_.empty()) return backend::arrival::nothing;
  }
  const auto before = answers_;
  auto got = read(patience::some);
  for (int tries = 1; got == backend::arrival::something && answers_ == before && tries < most_tries; ++tries)
    got = read(patience::some);
  return got;
}

// Between the calls of a caller that always reads for itself nobody needs to listen at once: opening and shutting the
// gate each time would cost it two system calls.
void http2_connection::give_back(backend::loan_end as) noexcept {
  bool call = false;
  {
    const std::lock_guard lock(mutex_);
    borrowed_ = false;
    if (state_ == state::dead) return;
    while (!dues_.empty() && dues_.front()->now_.over) dues_.pop_front();
    const bool later = as == backend::loan_end::back_soon || (as == backend::loan_end::quiet && dues_.empty());
    if (!later) return gate_.read(true);
    call = !std::exchange(attending_, true);
  }
  if (call) attend();
}

void http2_connection::attend() noexcept {
  loop_.call_at(time_.now() + attendance, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->state_ == state::dead) return;
      if (!std::exchange(self->busy_, false) && !self->borrowed_) {
        self->attending_ = false;
        return self->gate_.read(true);
      }
    }
    self->attend();
  });
}

// ---- deadlines and the end

// [mutex_] One timer for all questions: all have the same time, so the oldest one is due first.
void http2_connection::watch_deadline() {
  while (!dues_.empty() && dues_.front()->now_.over) dues_.pop_front();
  if (dues_.empty()) return;
  const auto due = dues_.front()->now_.due + milliseconds{1};
  if (deadline_at_ <= due) return;
  deadline_at_ = due;
  loop_.call_at(due, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->deadline();
  });
}

void http2_connection::deadline() noexcept {
  const std::lock_guard reading(reading_);
  std::vector<http2_session::news> late;
  bool stuck = false;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == state::dead) return;
    deadline_at_ = instant::max();
    const auto now = time_.now();
    for (; !dues_.empty() && (dues_.front()->now_.over || dues_.front()->now_.due <= now); dues_.pop_front()) {
      const auto& one = dues_.front();
      if (one->now_.over) continue;
      // What has not left by now would be done later, and nobody could say that it was not.
      stuck = stuck || (one->now_.stream != 0 && one->now_.begin >= flushed_);
      if (stuck) break;
      const bool sent = std::erase(early_, one) == 0;
      one->now_.over = true;
      if (sent) session_->cancel(*one);
      late.push_back({one,
                      {},
                      call_end{.is = sent ? call_end::kind::unanswered : call_end::kind::never_sent,
                               .words = "no answer in time",
                               .late = true}});
    }
    watch_deadline();
    corked_ = true;
  }
  tell(late);
  if (stuck) drop(lost("it takes nothing in"));
}

void http2_connection::retire() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  loop_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard reading(self->reading_);
    {
      const std::lock_guard lock(self->mutex_);
      if (!self->idle()) return;
    }
    self->drop(self->lost("left for another"));
  });
}

void http2_connection::close() noexcept {
  const auto self = shared_from_this();
  const std::lock_guard reading(reading_);
  drop(failure(errc::closed, "closed"));
}

// [reading_]
void http2_connection::drop(const failure& why) noexcept {
  std::vector<http2_session::news> all;
  subscription watch;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(state_, state::dead) == state::dead) return;
    all = std::exchange(left_, {});
    const auto add = [&](const exchange_ptr& one, bool sent) {
      one->now_.over = true;
      all.push_back(
          {one,
           {},
           call_end{.is = sent ? call_end::kind::unanswered : call_end::kind::never_sent, .words = why.message()}});
    };
    for (const auto& one : std::exchange(early_, {})) add(one, false);
    if (session_) {
      for (auto& one : session_->take_news()) all.push_back(std::move(one));
      for (const auto& one : session_->all()) add(one, one->now_.begin < flushed_);
    }
    dues_.clear();
    watch = gate_.end();
    away_.cancel();
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  }
  loop_.post([watch = std::move(watch)] {});  // ended there: here, its callback might be waiting for us
  tell(all);
  owner_.down(*this, why);
}

}  // namespace interlock::inline v1::etcd_store
