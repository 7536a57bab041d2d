// SPDX-License-Identifier: MIT
#include "backends/zookeeper/link.hpp"

#include "backends/zookeeper/requests.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

/// Sending, receiving, and the end. How it comes up is in link_open.cpp, what is sent as one in flight.cpp.
namespace interlock::inline v1::zookeeper_store {
namespace {

constexpr std::size_t few = 8;          // under way: one more may be written at once
constexpr std::size_t good_many = 32;   // requests: worth a packet of their own
constexpr milliseconds unsent_most{2};  // what a caller was to send is sent by the loop
constexpr std::size_t read_size = std::size_t{64} << 10;
constexpr std::size_t longest_frame = std::size_t{64} << 20;
constexpr milliseconds attendance{5};   // a socket that callers read themselves is looked after this often
constexpr int farewell_patience = 200;  // ms
constexpr std::int32_t event_number = -1, ping_number = -2, credentials_number = -4;

std::size_t length_of(const char* frame) noexcept { return static_cast<std::uint32_t>(reader({frame, 4}).number()); }

}  // namespace

std::string endpoint::shown() const {
  return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

link::link(endpoint where, std::shared_ptr<net::tls_context> tls, reactor& loop, const time_source& time, owner& of)
    : where_(std::move(where)), tls_(std::move(tls)), loop_(loop), time_(time), owner_(of), in_(read_size) {}

link::~link() {
  watch_ = {};
  stream_.reset();
  if (gate_ >= 0) ::close(gate_);
  if (socket_ >= 0) ::close(socket_);
}

failure link::lost(std::string_view why) const {
  return failure(errc::unavailable, where_.shown() + ": " + std::string(why));
}

instant link::oldest() const {
  const std::lock_guard lock(mutex_);
  return std::min(asked_.empty() ? instant::max() : asked_.front().sent,
                  pings_.empty() ? instant::max() : pings_.front());
}

instant link::last_sent() const {
  const std::lock_guard lock(mutex_);
  return last_sent_;
}

// ---- sending

// [mutex_]
void link::put(std::int32_t number, std::string_view body) {
  put_number(out_, static_cast<std::int32_t>(body.size() + 4));
  put_number(out_, number);
  out_ += body;
  last_sent_ = time_.now();
}

bool link::send(std::string what, sending when, answer_handler done, together as) {
  bool post = false, in_time = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_up()) return false;
    gathered_.push_back({std::move(what), as, std::move(done)});
    if (corked_ || flush_posted_ || !when) return true;
    if (when == inline_work::if_brief && asked_.size() + gathered_.size() <= few) {
      flush_locked();
    } else if (when == inline_work::together) {
      if (gathered_.size() < good_many)
        in_time = !std::exchange(in_time_, true);
      else
        flush_locked();
    } else {
      post = flush_posted_ = true;
      watch_in(watched_ | EPOLLIN);  // whoever asks this way does not come to read the answer
    }
  }
  if (post) post_flush();
  // Whoever left something to be sent may be kept by other work, which may take as long as it likes.
  if (in_time)
    loop_.call_at(time_.now() + unsent_most, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        const std::lock_guard lock(self->mutex_);
        self->in_time_ = false;
        self->flush_and_listen();
      }
    });
  return true;
}

void link::ping() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_up()) return;
    std::string body;
    put_number(body, 11);
    put(ping_number, body);
    pings_.push_back(last_sent_);
    watch_in(watched_ | EPOLLIN);
    if (corked_ || std::exchange(flush_posted_, true)) return;
  }
  post_flush();
}

void link::say_credentials(std::string_view packet) {
  const std::lock_guard lock(mutex_);
  put(credentials_number, packet);
  if (!corked_) flush_locked();
}

void link::post_flush() {
  loop_.post([self = shared_from_this()] { self->flush(); });
}

void link::flush_left() noexcept {
  const std::lock_guard lock(mutex_);
  flush_and_listen();
}

// [mutex_] Whoever sent it does not come to read the answer.
void link::flush_and_listen() noexcept {
  if (corked_ || idle() || !is_up()) return;
  flush_locked();
  watch_in(watched_ | EPOLLIN);
}

void link::flush() noexcept {
  const std::lock_guard lock(mutex_);
  flush_posted_ = false;
  flush_locked();
}

// [mutex_] What cannot be sent now is sent when the socket has room. A broken socket is left to whoever reads: it has
// the end of the story there.
void link::flush_locked() noexcept {
  assemble();
  while (out_sent_ < out_.size() && stream_) {
    const auto moved = stream_->write(out_.data() + out_sent_, out_.size() - out_sent_);
    if (moved.is == net::stream::progress::ended) {
      ::shutdown(socket_, SHUT_RDWR);
      return watch_in(EPOLLIN);
    }
    if (moved.bytes == 0) return watch_in(watched_ | EPOLLIN | EPOLLOUT);
    out_sent_ += moved.bytes;
  }
  if (out_sent_ == out_.size()) {
    out_base_ += out_.size();
    out_.clear();
    out_sent_ = 0;
  }
  if ((watched_ & EPOLLOUT) != 0) watch_in(watched_ & ~unsigned{EPOLLOUT});
}

void link::watch_in(unsigned events) noexcept {
  if (borrowed_) events &= ~unsigned{EPOLLIN};
  if (events == watched_ || gate_ < 0) return;
  watched_ = events;
  epoll_event what{.events = events, .data = {}};
  ::epoll_ctl(gate_, EPOLL_CTL_MOD, socket_, &what);
}

// ---- receiving

bool link::read_borrowed() noexcept {
  const std::lock_guard lock(reading_);
  read(false);
  return is_up();
}

backend::arrival link::await_borrowed() noexcept {
  const std::lock_guard lock(reading_);
  const auto awaited = [this] {
    const std::lock_guard inner(mutex_);
    return asked_.size() + pings_.size() + gathered_.size();
  };
  // Its answer may have come between the borrowing and now, read by the loop: then there is nothing to wait for.
  const auto at_first = awaited();
  if (at_first == 0 && is_up()) return backend::arrival::nothing;
  const bool some = read(true);
  // What a lone caller asks in one write, to make a node and for the list, may be answered in two.
  if (some && at_first == 2 && awaited() == 1) read(true);
  return !is_up() ? backend::arrival::the_end : some ? backend::arrival::something : backend::arrival::nothing;
}

// [reading_] Whether anything came. `soon`: waits for it, for some milliseconds.
bool link::read(bool soon) noexcept {
  bool some = false;
  for (bool again = true; again;) {
    if (state_.load(std::memory_order_acquire) == state::dead || !stream_) return some;
    if (in_.size() - in_used_ < read_size / 4) in_.resize(in_.size() * 2);
    const auto room = in_.size() - in_used_;
    auto* const to = in_.data() + in_used_;
    const auto moved = soon && !some ? stream_->read_soon(to, room) : stream_->read(to, room);
    if (moved.is == net::stream::progress::ended) {
      drop(lost(stream_->reason()), true);
      return some;
    }
    if (moved.is == net::stream::progress::wants_write) {  // TLS has something to say before it can go on
      const std::lock_guard lock(mutex_);
      watch_in(watched_ | EPOLLOUT);
    }
    if (moved.bytes == 0) return some;
    some = true;
    in_used_ += moved.bytes;
    if (!take_frames()) return some;
    again = tls_ || moved.bytes == room;  // TLS keeps what it has deciphered to itself
  }
  return some;
}

// Handles what has arrived in full. What it makes us send goes out in one piece. false: this was the end.
bool link::take_frames() {
  std::size_t at = 0;
  bool wrong = false;
  while (in_used_ - at >= 4 && !muted_.load(std::memory_order_relaxed)) {
    const auto size = length_of(in_.data() + at);
    wrong = size > longest_frame;
    if (wrong || in_used_ - at < 4 + size) break;
    take({in_.data() + at + 4, size});
    at += 4 + size;
    if (state_.load(std::memory_order_acquire) == state::dead) return false;
  }
  std::memmove(in_.data(), in_.data() + at, in_used_ - at);
  in_used_ -= at;
  if (in_.size() > 4 * read_size && in_used_ == 0) in_ = std::vector<char>(read_size);  // a long survey is over
  {
    const std::lock_guard lock(mutex_);
    corked_ = false;
    flush_locked();
  }
  if (!wrong) return true;
  drop(lost("it does not speak ZooKeeper's protocol"), true);
  return false;
}

void link::take(std::string_view frame) {
  reader from(frame);
  if (state_.load(std::memory_order_acquire) == state::greeting) return owner_.greeted(*this, from);
  const auto number = from.number();
  const auto change = from.big();
  const auto error = from.number();
  if (!from.ok()) return drop(lost("it does not speak ZooKeeper's protocol"), true);
  if (change > 0) last_change_.store(change);
  answer_handler done;
  instant pinged{};
  {
    const std::lock_guard lock(mutex_);
    corked_ = true;
    if (number == ping_number && !pings_.empty()) {
      pinged = pings_.front();
      pings_.pop_front();
    } else if (number > 0 && !asked_.empty() && asked_.front().number == number) {
      done = std::move(asked_.front().done);
      asked_.pop_front();
    }
  }
  if (done) return done({error, from});
  switch (number) {
    case event_number: {
      const auto kind = from.number();
      from.number();  // the session's state, which we know
      return owner_.watched(*this, {static_cast<watch_event::kind>(kind), from.text()});
    }
    case ping_number: return owner_.ponged(*this, pinged);
    case credentials_number: return owner_.authenticated(*this, error);
    default: return drop(lost("an answer came that nobody had asked for"), true);
  }
}

// ---- callers that read for themselves

int link::borrow() noexcept {
  const std::lock_guard lock(mutex_);
  if (borrowed_ || !is_up()) return -1;
  borrowed_ = busy_ = true;
  watch_in(watched_ & ~unsigned{EPOLLIN});
  if (out_sent_ < out_.size() || !gathered_.empty())
    flush_locked();  // it was about to be sent by somebody who has to be woken for it
  return socket_;
}

// Between the calls of a caller that always reads for itself nobody needs to listen at once: opening and shutting the
// gate each time would cost it two system calls.
void link::give_back(backend::loan_end as) noexcept {
  bool call = false;
  {
    const std::lock_guard lock(mutex_);
    borrowed_ = false;
    const bool later = as == backend::loan_end::back_soon || (as == backend::loan_end::quiet && idle());
    if (!later || !is_up()) return watch_in(watched_ | EPOLLIN);
    call = !std::exchange(attending_, true);
  }
  if (call) attend();
}

void link::attend() noexcept {
  loop_.call_at(time_.now() + attendance, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->state_.load() == state::dead) return;
      if (!std::exchange(self->busy_, false) && !self->borrowed_) {
        self->attending_ = false;
        return self->watch_in(self->watched_ | EPOLLIN);
      }
    }
    self->attend();
  });
}

// ---- the end

void link::fail(const failure& why) noexcept {
  const auto self = shared_from_this();
  const std::lock_guard lock(reading_);
  drop(why, true);
}

void link::close(std::string_view farewell) noexcept {
  muted_.store(true);
  const auto self = shared_from_this();
  const std::lock_guard lock(reading_);
  if (!farewell.empty() && is_up()) say_farewell(farewell);
  drop(failure(errc::closed), false);
}

// [reading_] Closing a socket with something unread resets the connection, and the server may then never read the
// farewell: so wait until it has closed its side.
void link::say_farewell(std::string_view farewell) noexcept {
  int socket = -1;
  {
    const std::lock_guard lock(mutex_);
    put(++last_number_, farewell);
    flush_locked();
    if (out_sent_ < out_.size()) return;
    socket = socket_;
  }
  const auto give_up = time_.now() + milliseconds{farewell_patience};
  char bin[4096];
  for (pollfd one{socket, POLLIN, 0}; time_.now() < give_up;) {
    if (::poll(&one, 1, farewell_patience) <= 0) return;
    if (stream_->read(bin, sizeof bin).is == net::stream::progress::ended) return;
  }
}

// [reading_]
void link::drop(const failure& why, bool tell) noexcept {
  std::vector<std::pair<answer_handler, bool>> unanswered;
  subscription watch;
  {
    const std::lock_guard lock(mutex_);
    if (state_.exchange(state::dead) == state::dead) return;
    const auto sent = out_base_ + out_sent_;
    for (auto& one : asked_) unanswered.emplace_back(std::move(one.done), one.begin < sent);
    for (auto& one : gathered_) unanswered.emplace_back(std::move(one.done), false);
    asked_.clear();
    gathered_.clear();
    pings_.clear();
    watch = std::move(watch_);
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  }
  lookup_.cancel();
  loop_.post([watch = std::move(watch)] {});  // ended there: here, its callback might be waiting for us
  if (!tell || muted_.load()) return;
  for (auto& [done, sent] : unanswered) done({sent ? code::unknown : code::not_sent, {}});
  owner_.ended(*this, why);
}

}  // namespace interlock::inline v1::zookeeper_store
