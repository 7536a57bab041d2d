// SPDX-License-Identifier: MIT
#include "backends/redis/connection.hpp"

#include "backends/redis/server_error.hpp"

#include "net/shared_core.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

/// Sending, receiving, and the end. How it comes up is in connection_open.cpp, subscriptions in
/// connection_messages.cpp, callers that read for themselves in connection_lending.cpp and connection_exchange.cpp.
namespace interlock::inline v1::redis_store {
namespace {

constexpr std::size_t good_deal = std::size_t{3} << 10;    // bytes: worth a packet of its own if the server is idle
constexpr std::size_t great_deal = std::size_t{16} << 10;  // bytes: as much as a server reads at once
constexpr std::size_t read_size = std::size_t{64} << 10;

}  // namespace

std::string endpoint::shown() const {
  if (!path.empty()) return path;
  return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

connection::connection(endpoint where, const connection_settings& settings, reactor& loop, const time_source& time,
                       owner& of, std::shared_ptr<core::brief_mutex> mutex)
    : where_(std::move(where)),
      settings_(settings),
      loop_(loop),
      time_(time),
      owner_(of),
      in_(read_size),
      kept_mutex_(std::move(mutex)),
      mutex_(*kept_mutex_) {}

connection::~connection() {
  watch_ = {};
  stream_.reset();
  if (gate_ >= 0) ::close(gate_);
  if (socket_ >= 0) ::close(socket_);
}

failure connection::lost(std::string_view why) const {
  return failure(errc::unavailable, where_.shown() + ": " + std::string(why));
}

failure connection::why_ended() const {
  const std::lock_guard lock(mutex_);
  return doom_ ? *doom_ : lost(stream_->reason());
}

server_facts connection::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

// ---- sending

bool connection::accept(const order& what, inline_work here, reply_handler& done) {
  std::optional<afterwards> next;
  {
    const std::lock_guard lock(mutex_);
    next = accept_locked(what, here, done);
  }
  if (next) then(*next);
  return next.has_value();
}

std::optional<connection::afterwards> connection::accept_locked(const order& what, inline_work here,
                                                                reply_handler& done) {
  if (!is_up()) return {};
  leave_exchange();
  const auto now = time_of_asking();
  if (!what.first.empty()) [[unlikely]]
    push_first(what.first, now, done);
  const outbox::about one{.called = what.called, .sent = now, .hops = what.hops};
  const bool at_once = goes_at_once(here);
  if (what.part.all != nullptr && !at_once)
    out_.join(one, what.part, std::move(done));
  else
    out_.push(one, what.bytes, std::move(done));
  return accepted(here, at_once);
}

// [mutex_] Should it be refused, for want of the right to it, then that is the reason why what follows fails.
void connection::push_first(std::string_view bytes, instant now, reply_handler& done) {
  const auto refused = std::make_shared<std::optional<failure>>();
  out_.push({.sent = now}, bytes, [refused](const result<reply>& got) {
    if (!got && got.error().kind() == errc::denied) *refused = got.error();
  });
  done = [refused, done = std::move(done)](const result<reply>& got) mutable {
    done(!got && *refused ? result<reply>(**refused) : got);
  };
}

std::optional<connection::afterwards> connection::accept_locked(const short_call& what, inline_work here,
                                                                reply_handler& done) {
  if (!is_up()) return {};
  if (fetches(here) && exchanges(what, here, done)) return afterwards::fetch_answer;
  leave_exchange();
  const outbox::about one{.called = what.called, .sent = time_of_asking()};
  const bool at_once = goes_at_once(here);
  if (what.all != nullptr && !at_once)
    out_.join(one, what, std::move(done));
  else
    out_.push(one, what, std::move(done));
  return accepted(here, at_once);
}

// [mutex_] It is in the outbox: is it sent now, or when?
connection::afterwards connection::accepted(inline_work here, bool at_once) {
  watch_deadline();
  if (corked_ || flush_posted_) [[unlikely]]
    return afterwards::nothing;
  if (at_once) {
    flush_locked();
    return afterwards::nothing;
  }
  if (here == inline_work::together) return leave_unsent() ? afterwards::send_in_time : afterwards::nothing;
  flush_posted_ = true;
  watch_in(watched_ | EPOLLIN);  // whoever asks this way does not come to read the answer
  return afterwards::post_flush;
}

void connection::refuse(reply_handler& done) const {
  done(failure(errc::unavailable, where_.shown() + ": not connected"));
}

void connection::post_flush() {
  loop_.post([self = shared_from_this()] { self->flush(); });
}

// [mutex_] The caller sends it together with what it will ask next, unless it is worth a packet already. true:
// send_in_time() has to be called.
bool connection::leave_unsent() {
  if (worth_a_packet()) {
    flush_locked();
    return false;
  }
  left_ = true;
  return !attending_ && !std::exchange(in_time_, true);
}

// [mutex_] A good deal is, if the server has nothing else to do meanwhile, and a core to do it on.
bool connection::worth_a_packet() noexcept {
  const auto size = out_.unsent_size();
  if (size < good_deal || size >= great_deal) return size >= great_deal;
  if (kept_whole_ == out_.sent_to() || out_.was_sent(out_.front())) return false;
  if (!same_host_ || !net::shares_core(socket_)) return true;
  kept_whole_ = out_.sent_to();
  return false;
}

// Whoever left something to be sent may be kept by other work: user code, which may take as long as it likes.
void connection::send_in_time() {
  loop_.call_at(time_.now() + unsent_most, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard lock(self->mutex_);
    self->in_time_ = false;
    self->flush_and_listen();
  });
}

void connection::flush_left() noexcept {
  const std::lock_guard lock(mutex_);
  flush_and_listen();
}

// [mutex_] Whoever sent it does not come to read the answer.
void connection::flush_and_listen() noexcept {
  if (corked_ || out_.empty() || !is_up()) return;
  flush_locked();
  watch_in(watched_ | EPOLLIN);
}

void connection::flush() noexcept {
  const std::lock_guard lock(mutex_);
  flush_posted_ = false;
  flush_locked();
}

// What cannot be sent now is sent when the socket has room. A broken socket is left to whoever reads: it has the end of
// the story there.
void connection::flush_locked() noexcept {
  left_ = false;
  out_.close();
  while (!out_.unsent().empty() && stream_) {
    const auto rest = out_.unsent();
    const auto moved = stream_->write(rest.data(), rest.size());
    if (moved.is == net::stream::progress::ended) [[unlikely]] {
      ::shutdown(socket_, SHUT_RDWR);
      watch_in(EPOLLIN);
      return;
    }
    if (moved.bytes == 0) [[unlikely]]
      return watch_in(watched_ | EPOLLIN | EPOLLOUT);
    out_.sent(moved.bytes);
  }
  if ((watched_ & EPOLLOUT) != 0) [[unlikely]]
    watch_in(watched_ & ~unsigned{EPOLLOUT});
}

void connection::let_through(unsigned events) noexcept {
  watched_ = events;
  epoll_event what{.events = events, .data = {}};
  ::epoll_ctl(gate_, std::exchange(in_gate_, true) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket_, &what);
}

// ---- receiving

bool connection::read_borrowed() noexcept {
  const std::lock_guard lock(reading_);
  read(reading::once);
  return is_up();
}

backend::arrival connection::await_borrowed() noexcept {
  const std::lock_guard lock(reading_);
  // Its answer may have come between the borrowing and now, read by the loop: then there is nothing to wait for.
  if (is_up() && out_.empty()) return backend::arrival::nothing;
  const bool some = read(reading::soon);
  return !is_up() ? backend::arrival::the_end : some ? backend::arrival::something : backend::arrival::nothing;
}

// Whoever is just reading its answer, has done so when this returns.
bool connection::awaits_answer() noexcept {
  const std::lock_guard lock(reading_);
  return !out_.empty();
}

// [reading_] Whether anything came.
bool connection::read(reading how) noexcept {
  bool again = false, some = false;
  do {
    if (state_.load(std::memory_order_acquire) == state::dead || !stream_) return some;
    if (in_.size() - in_used_ < read_size / 4) [[unlikely]]
      in_.resize(in_.size() * 2);
    const auto room = in_.size() - in_used_;
    auto* const to = in_.data() + in_used_;
    const auto moved = how == reading::soon && !again ? stream_->read_soon(to, room) : stream_->read(to, room);
    if (moved.is == net::stream::progress::ended) [[unlikely]] {
      drop(why_ended(), true);
      return some;
    }
    if (moved.is == net::stream::progress::wants_write) [[unlikely]] {  // TLS has something to say before it can go on
      const std::lock_guard lock(mutex_);
      watch_in(watched_ | EPOLLOUT);
      return some;
    }
    if (moved.bytes == 0) return some;
    some = true;
    in_used_ += moved.bytes;
    if (!take_replies()) return some;
    again = settings_.tls || (how == reading::all && moved.bytes == room);
  } while (again);
  return some;
}

// Handles what has arrived in full. What it makes us send goes out in one piece. false: this was the end.
bool connection::take_replies() {
  if (in_used_ < parser_.needed()) return true;
  std::size_t at = 0;
  auto got = reply_parser::outcome::complete;
  while (at < in_used_ && !muted_.load(std::memory_order_relaxed)) {
    got = parser_.parse({in_.data() + at, in_used_ - at});
    if (got != reply_parser::outcome::complete) break;
    at += parser_.used();
    answer(parser_.value());
    if (state_.load(std::memory_order_acquire) == state::dead) return false;
  }
  std::memmove(in_.data(), in_.data() + at, in_used_ - at);
  in_used_ -= at;
  if (in_.size() > read_size && in_used_ == 0) [[unlikely]]
    in_ = std::vector<char>(read_size);  // a long survey is over
  {
    const std::lock_guard lock(mutex_);
    corked_ = false;
    out_.tidy();
    flush_locked();
  }
  if (got != reply_parser::outcome::malformed) [[likely]]
    return true;
  drop(lost("it does not speak Redis' protocol: " + std::string(parser_.wrong())), true);
  return false;
}

// Who asked for what has come; nobody, if it is a bundle's answer: then bundle_ has them.
outbox::pointer connection::asked(std::string_view& bytes) {
  const std::lock_guard lock(mutex_);
  corked_ = true;
  out_.recycle(answered_);
  if (out_.empty() || !out_.was_sent(out_.front())) [[unlikely]]
    return {};  // not an answer, then
  bytes = out_.bytes_of(out_.front());
  if (out_.front().bundle == 1) return out_.pop();
  out_.pop_bundle(bundle_);
  return {};
}

void connection::answer(reply what) {
  if (what.is() == reply::kind::push || (listening_ && what.is() == reply::kind::list && !facts_.resp3))
    return answer_push(what);
  if (what.is() == reply::kind::error && is_stray(what.text())) return;
  std::string_view bytes;
  auto one = asked(bytes);
  if (!bundle_.empty()) return answer_bundle(what, bytes);
  if (!one) return drop(lost("a reply came that nobody had asked for"), true);
  if (what.is() != reply::kind::error) [[likely]] {
    one->done(what);
    one->done = {};
    return answered_.push_back(std::move(one));
  }
  const auto error = what.text();
  if (one->by_push) return one->done(server_failure(error));  // where it would be asked again is the owner's affair
  const std::string kept(bytes);                              // the outbox may move while this is dealt with
  if (one->called != nullptr && error.starts_with("NOSCRIPT") && calls_by_name(kept))
    return send(with_text(kept, *one->called), one->called, inline_work::never, std::move(one->done));
  const owner::refusal refused{.error = error, .request = kept, .called = one->called, .hops = one->hops};
  if (is_up() && owner_.refused(*this, refused, one->done)) return;
  one->done(server_failure(error));
}

// [reading_] Each is given its own part of the reply.
void connection::answer_bundle(reply what, std::string_view bytes) {
  auto all = std::exchange(bundle_, {});  // a handler may be the end of us
  if (what.is() == reply::kind::error && what.text().starts_with("NOSCRIPT") && calls_by_name(bytes)) {
    const std::lock_guard lock(mutex_);
    out_.push_again(all, with_text(bytes, *all.front()->called));
    watch_deadline();
  } else {
    auto said = what.begin();
    const bool list = what.is() == reply::kind::list && what.size() == all.size();
    const bool same = what.is() == reply::kind::number;
    owner_.answers_begin();
    for (auto& one : all) {
      const auto mine = list ? *said : what;
      if (list) ++said;
      if (muted_.load(std::memory_order_relaxed)) break;
      if (mine.is() == reply::kind::error) {
        const owner::refusal refused{.error = mine.text(), .called = one->called};
        if (is_up()) owner_.refused(*this, refused, one->done);
        one->done(server_failure(mine.text()));
      } else if (list || same) {
        one->done(mine);
      } else {
        one->done(failure(errc::internal, "the script's answer makes no sense"));
      }
      one->done = {};
      answered_.push_back(std::move(one));
    }
    owner_.answers_end();
  }
  all.clear();
  if (bundle_.capacity() < all.capacity()) bundle_ = std::move(all);
}

// ---- deadlines

// [mutex_] One timer for all requests: the oldest one is answered first. That of connecting is later than the first
// request's: it does not count any more.
void connection::call_deadline_at(instant due) {
  deadline_at_ = due;
  loop_.call_at(due, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->deadline();
  });
}

void connection::deadline() noexcept {
  bool overdue = false;
  const auto now = time_.now();
  {
    const std::lock_guard lock(mutex_);
    if (state_.load() == state::dead || now < deadline_at_) return;
    deadline_at_ = instant::max();
    leave_exchange();
    overdue = is_up() ? !out_.empty() && now >= out_.front().sent + settings_.timeout : now >= give_up_;
    if (!overdue) {
      if (!is_up() || !out_.empty()) watch_deadline();
      return;
    }
  }
  const bool was_up = is_up();
  fail(lost("no answer within " + std::to_string((was_up ? settings_.timeout : settings_.connect_timeout).count()) +
            " ms"));
}

// ---- the end

// Whoever waits in a read is not to keep us waiting: it may have the right to read for as long as a request may take.
void connection::wake_reader(const failure& why) noexcept {
  const std::lock_guard lock(mutex_);
  if (!doom_) doom_ = why;
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

void connection::fail(const failure& why) noexcept {
  const auto self = shared_from_this();
  wake_reader(why);
  const std::lock_guard lock(reading_);
  drop(why, true);
}

void connection::close() noexcept {
  muted_.store(true);
  const auto self = shared_from_this();
  wake_reader(failure(errc::closed));
  const std::lock_guard lock(reading_);
  drop(failure(errc::closed), false);
}

// [reading_]
void connection::drop(const failure& why, bool tell) noexcept {
  std::vector<std::pair<reply_handler, bool>> unanswered;
  subscription watch;
  {
    const std::lock_guard lock(mutex_);
    if (state_.exchange(state::dead) == state::dead) return;
    out_.close();
    while (!out_.empty()) {
      const bool sent = out_.was_sent(out_.front());
      unanswered.emplace_back(std::move(out_.pop()->done), sent);
    }
    watch = std::move(watch_);
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  }
  lookup_.cancel();
  loop_.post([watch = std::move(watch)] {});  // ended there: here, its callback might be waiting for us
  if (!tell || muted_.load()) return;
  const failure maybe(errc::indeterminate, why.message());
  const failure not_sent(errc::unavailable, why.message());
  for (auto& [done, sent] : unanswered)
    if (done) done(sent ? maybe : not_sent);
  owner_.down(*this, why);
}

}  // namespace interlock::inline v1::redis_store
