// SPDX-License-Identifier: MIT
#include "backends/memcached/connection.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace interlock::inline v1::memcached_store {
namespace {

using progress = net::stream::progress;

constexpr milliseconds unsent_most{2};  // what a caller was to send is sent by the loop
constexpr milliseconds attendance{5};   // a socket that callers read themselves is looked after this often
constexpr std::size_t few = 4;          // under way: one more may be written at once
constexpr std::size_t good_deal = std::size_t{6} << 10;  // bytes: worth a packet of its own
constexpr std::size_t read_size = std::size_t{32} << 10;

}  // namespace

connection::connection(established with, const memcached_settings& settings, reactor& loop, const time_source& time,
                       owner& of)
    : settings_(settings),
      loop_(loop),
      time_(time),
      owner_(of),
      in_(read_size),
      socket_(std::exchange(with.socket, -1)),
      bytes_(std::move(with.bytes)) {}

connection::~connection() { ::close(socket_); }

void connection::start() {
  const std::lock_guard lock(mutex_);
  gate_.open(socket_, loop_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->turn();
  });
}

// ---- sending

void connection::send(std::string_view commands, std::size_t count, inline_work here, replies_handler done) {
  bool post = false, in_time = false;
  {
    const std::lock_guard lock(mutex_);
    if (!dead_) {
      under_way_.push({.count = count, .begin = written_, .sent = time_.now(), .done = std::move(done)});
      done = {};
      out_ += commands;
      written_ += commands.size();
      watch_deadline();
      if (corked_ || posted_) {
        // It goes with what is sent then.
      } else if (here == inline_work::if_brief && under_way_.size() <= few) {
        flush();
      } else if (here == inline_work::together) {  // the caller sends it with what it will ask next
        if (out_.size() < good_deal)
          in_time = !std::exchange(in_time_, true);
        else
          flush();  // so that the server has something to do meanwhile
      } else {
        post = posted_ = true;
        if (!borrowed_) gate_.read(true);  // who asks so does not come for the answer
      }
    }
  }
  if (done) return done(failure(errc::unavailable, settings_.shown() + ": not connected"));
  const auto flush_later = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->flush_left();
  };
  if (post) loop_.post(flush_later);
  if (in_time) loop_.call_at(time_.now() + unsent_most, flush_later);
}

void connection::flush_left() noexcept {
  const std::lock_guard lock(mutex_);
  in_time_ = posted_ = false;
  flush();
  if (!under_way_.empty() && !borrowed_) gate_.read(true);
}

// [mutex_] What cannot be sent now is sent when the socket has room. A broken socket is left to whoever reads.
void connection::flush() {
  while (!out_.empty() && !dead_) {
    const auto sent = bytes_->write(out_.data(), out_.size());
    if (sent.is == progress::ended) {
      ::shutdown(socket_, SHUT_RDWR);
      return gate_.read(true);
    }
    if (sent.is != progress::done) return sent.is == progress::wants_write ? gate_.write(true) : gate_.read(true);
    flushed_ += sent.bytes;
    out_.erase(0, sent.bytes);
  }
  gate_.write(false);
}

// ---- receiving

void connection::turn() noexcept {
  const std::lock_guard lock(reading_);
  {
    const std::lock_guard inner(mutex_);
    if (dead_) return;
    if (gate_.writes()) flush();
    if (borrowed_) return;
  }
  static_cast<void>(read(patience::none));
}

// [reading_] With some patience: waits for it a few milliseconds, where that costs nothing.
backend::arrival connection::read(patience with) noexcept {
  auto out = backend::arrival::nothing;
  for (bool again = true; again;) {
    if (dead_) return backend::arrival::the_end;
    if (in_.size() - in_used_ < read_size / 2) in_.resize(2 * in_.size());
    auto* const to = in_.data() + in_used_;
    const auto room = in_.size() - in_used_;
    const bool patient = with == patience::some && out == backend::arrival::nothing;
    const auto got = patient ? bytes_->read_soon(to, room) : bytes_->read(to, room);
    if (got.is == progress::ended) {
      drop(failure(errc::unavailable, settings_.shown() + ": " + bytes_->reason()), true);
      return backend::arrival::the_end;
    }
    if (got.is == progress::wants_write) {  // TLS has something to say before it can go on
      const std::lock_guard lock(mutex_);
      gate_.write(true);
    }
    if (got.bytes == 0) return out;
    out = backend::arrival::something;
    in_used_ += got.bytes;
    if (!take()) {
      drop(failure(errc::unavailable, settings_.shown() + ": it does not speak Memcached's protocol"), true);
      return backend::arrival::the_end;
    }
    again = settings_.tls || got.bytes == room;
  }
  return out;
}

// [reading_] Hands out what has arrived in full. false: nonsense.
bool connection::take() {
  std::size_t at = 0;
  auto got = meta_parse::outcome::complete;
  while (at < in_used_ && !dead_ && !muted_.load(std::memory_order_relaxed)) {
    request asked;
    std::array<meta_reply, most_commands> said;
    got = next(asked, said, at);
    if (got != meta_parse::outcome::complete) break;
    asked.done(replies(said.data(), asked.count));
  }
  std::copy(in_.begin() + static_cast<std::ptrdiff_t>(at), in_.begin() + static_cast<std::ptrdiff_t>(in_used_),
            in_.begin());
  in_used_ -= at;
  const std::lock_guard lock(mutex_);
  corked_ = false;
  flush();
  return got != meta_parse::outcome::malformed;
}

// [reading_] The oldest request, if all its replies are here.
meta_parse::outcome connection::next(request& asked, std::span<meta_reply> said, std::size_t& at) {
  using outcome = meta_parse::outcome;
  const std::lock_guard lock(mutex_);
  if (under_way_.empty()) return outcome::malformed;
  const std::string_view all(in_.data(), in_used_);
  auto end = at;
  for (auto& one : said.first(under_way_.front().count)) {
    const auto parsed = parse_reply(all.substr(end));
    if (parsed.is != outcome::complete) return parsed.is;
    one = parsed.reply;
    end += parsed.used;
  }
  at = end;
  asked = under_way_.pop();
  corked_ = true;
  return outcome::complete;
}

// ---- callers that read for themselves

int connection::borrow() noexcept {
  const std::lock_guard lock(mutex_);
  if (borrowed_ || dead_) return -1;
  borrowed_ = busy_ = true;
  gate_.read(false);
  flush();  // it was about to be sent by somebody who has to be woken for it
  return socket_;
}

bool connection::read_borrowed() noexcept {
  const std::lock_guard lock(reading_);
  return read(patience::none) != backend::arrival::the_end;
}

backend::arrival connection::await_borrowed() noexcept {
  const std::lock_guard lock(reading_);  // from here on nobody else takes the answer that we wait for
  {
    const std::lock_guard inner(mutex_);
    if (!dead_ && under_way_.empty()) return backend::arrival::nothing;
  }
  return read(patience::some);
}

void connection::give_back(backend::loan_end as) noexcept {
  bool call = false;
  {
    const std::lock_guard lock(mutex_);
    borrowed_ = false;
    if (dead_) return;
    const bool later = as == backend::loan_end::back_soon || (as == backend::loan_end::quiet && under_way_.empty());
    if (!later) return gate_.read(true);
    call = !std::exchange(attending_, true);
  }
  if (call) attend();
}

void connection::attend() noexcept {
  loop_.call_at(time_.now() + attendance, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->dead_) return;
      if (!std::exchange(self->busy_, false) && !self->borrowed_) {
        self->attending_ = false;
        return self->gate_.read(true);
      }
    }
    self->attend();
  });
}

// ---- deadlines and the end

// [mutex_] One timer for all requests: the oldest one is answered first.
void connection::watch_deadline() {
  const auto due = under_way_.front().sent + settings_.timeout + milliseconds{1};
  if (deadline_at_ <= due) return;
  deadline_at_ = due;
  loop_.call_at(due, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->deadline();
  });
}

void connection::deadline() noexcept {
  {
    const std::lock_guard lock(mutex_);
    deadline_at_ = instant::max();
    if (dead_ || under_way_.empty()) return;
    if (time_.now() < under_way_.front().sent + settings_.timeout) return watch_deadline();
  }
  fail(failure(errc::unavailable,
               settings_.shown() + ": no answer within " + std::to_string(settings_.timeout.count()) + " ms"));
}

void connection::fail(const failure& why) noexcept {
  const auto self = shared_from_this();
  const std::lock_guard lock(reading_);
  drop(why, true);
}

void connection::close() noexcept {
  muted_.store(true);
  const auto self = shared_from_this();
  const std::lock_guard lock(reading_);
  drop(failure(errc::closed), false);
}

// [reading_]
void connection::drop(const failure& why, bool tell) noexcept {
  net::ring<request> unanswered;
  std::size_t sent = 0;
  subscription watch;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(dead_, true)) return;
    unanswered = std::exchange(under_way_, {});
    sent = flushed_;
    watch = gate_.end();
    ::shutdown(socket_, SHUT_RDWR);
  }
  loop_.post([watch = std::move(watch)] {});  // ended there: here, its callback might be waiting for us
  if (!tell || muted_.load()) return;
  while (!unanswered.empty()) {
    auto one = unanswered.pop();
    one.done(failure(one.begin < sent ? errc::indeterminate : errc::unavailable, why.message()));
  }
  owner_.down(*this, why);
}

}  // namespace interlock::inline v1::memcached_store
