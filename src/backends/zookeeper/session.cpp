// SPDX-License-Identifier: MIT
#include "backends/zookeeper/session.hpp"

#include "backends/zookeeper/requests.hpp"

#include "net/reconnect_pause.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace interlock::inline v1::zookeeper_store {
namespace {

constexpr milliseconds first_pause{20};
constexpr milliseconds least_silence{500};

}  // namespace

session::session(const session_settings& settings, milliseconds wanted, reactor& loop, const time_source& time,
                 owner& of)
    : settings_(settings), wanted_(wanted), loop_(loop), time_(time), owner_(of) {
  // Not everybody at the first server of the list.
  next_server_ = static_cast<std::size_t>(random_.fraction() * static_cast<double>(settings_.servers.size()));
}

void session::open() { connect(); }

void session::connect() {
  std::shared_ptr<link> next;
  std::string hello;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || link_) return;
    next_server_ = (next_server_ + 1) % settings_.servers.size();
    next = link_ = std::make_shared<link>(settings_.servers[next_server_], settings_.tls, loop_, time_, *this);
    connecting_since_ = time_.now();
    const auto wish = std::min<std::int64_t>(wanted_.count(), std::numeric_limits<std::int32_t>::max());
    hello = greeting(last_change_, static_cast<std::int32_t>(wish), id_, password_);
  }
  next->open(std::move(hello));
}

void session::greeted(link& which, reader greeting) noexcept {
  const std::lock_guard telling(telling_);
  greeting.number();  // version of the protocol: 0
  const milliseconds timeout(greeting.number());
  const auto id = greeting.big();
  const auto password = greeting.text();
  if (!greeting.ok()) return which.fail(failure(errc::unavailable, which.where().shown() + ": it does not greet"));
  bool over = false, fresh = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || link_.get() != &which) return;
    over = timeout <= milliseconds{0} || id == 0;
    if (over) {
      id_ = 0;
      password_.clear();
    } else {
      fresh = id != id_;
      id_ = id;
      password_ = password;
      timeout_ = timeout;
    }
  }
  if (over) {
    owner_.expired(*this);
    return which.fail(failure(errc::unavailable, which.where().shown() + ": the session is over"));
  }
  std::string who;
  try {
    if (settings_.credentials) who = settings_.credentials();
  } catch (const std::exception& error) {
    return which.fail(failure(errc::unavailable, std::string("the password could not be had: ") + error.what()));
  }
  which.accept();
  if (!who.empty()) which.say_credentials(credentials(who));
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    up_ = was_up_ = true;
    failures_ = 0;
    denied_.reset();
  }
  owner_.established(*this, fresh);
}

void session::authenticated(link& which, int error) noexcept {
  const std::lock_guard telling(telling_);
  if (error == code::ok) return;
  const auto why = failure_of(error, "logging in at " + which.where().shown());
  {
    const std::lock_guard lock(mutex_);
    denied_ = why;
  }
  which.fail(why);
}

void session::ended(link& which, const failure& why) noexcept {
  const std::lock_guard telling(telling_);
  bool was_up = false, all_tried = false;
  failure reason = why;
  milliseconds pause{0};
  {
    const std::lock_guard lock(mutex_);
    if (link_.get() != &which) return;
    last_change_ = std::max(last_change_, which.last_change());
    link_ = nullptr;
    if (closed_) return;
    was_up = std::exchange(up_, false);
    if (!was_up || denied_) ++failures_;
    if (denied_) reason = *denied_;
    const auto servers = static_cast<unsigned>(settings_.servers.size());
    all_tried = failures_ > 0 && (failures_ % servers == 0 || denied_);
    if (failures_ >= servers) {
      pause = net::reconnect_pause(failures_ / servers, random_.fraction(), first_pause);
    }
  }
  if (was_up) owner_.adrift(*this);
  if (all_tried) owner_.failed(*this, reason);
  loop_.call_at(time_.now() + pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->connect();
  });
}

void session::watched(link& which, const watch_event& what) noexcept {
  const std::lock_guard telling(telling_);
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || link_.get() != &which) return;
  }
  owner_.watched(*this, what);
}

bool session::is_up() const {
  const std::lock_guard lock(mutex_);
  return up_;
}

bool session::was_up() const {
  const std::lock_guard lock(mutex_);
  return was_up_;
}

std::int64_t session::id() const {
  const std::lock_guard lock(mutex_);
  return id_;
}

milliseconds session::timeout() const {
  const std::lock_guard lock(mutex_);
  return timeout_;
}

std::string session::server() const {
  const auto to = current();
  return to ? to->where().shown() : std::string{};
}

std::shared_ptr<link> session::current() const {
  const std::lock_guard lock(mutex_);
  return link_;
}

bool session::send(std::string request, link::sending when, answer_handler done, together as) {
  const auto to = current();
  return to && to->send(std::move(request), when, std::move(done), as);
}

// A server that says nothing for so long is left, while there is time to keep the session alive at another.
milliseconds session::silence() const { return std::max(timeout_ / 3, least_silence); }

instant session::tend(instant now) {
  std::shared_ptr<link> to;
  instant since{};
  milliseconds quiet{};
  bool up = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || !link_) return now + milliseconds{1'000};
    to = link_;
    since = connecting_since_;
    up = up_;
    quiet = up ? silence() : settings_.connect_timeout;
  }
  const auto asked = up ? to->oldest() : since;
  if (asked != instant::max() && now - asked >= quiet) {
    to->fail(failure(errc::unavailable,
                     to->where().shown() + ": no answer within " + std::to_string(quiet.count()) + " ms"));
    return now + milliseconds{100};
  }
  if (!up) return since + quiet;
  auto next = to->last_sent() + timeout() / 3;
  if (next <= now) {
    to->ping();
    next = now + timeout() / 3;
  }
  return std::min(next, asked == instant::max() ? next : asked + quiet);
}

void session::close() noexcept {
  std::shared_ptr<link> to;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    up_ = false;
    to = link_;
  }
  {
    const std::lock_guard told(telling_);  // what is being told at this moment uses the owner
  }
  if (to) to->close(ask_close());
}

}  // namespace interlock::inline v1::zookeeper_store
