// SPDX-License-Identifier: MIT
#include "backends/redis/master_courier.hpp"

#include "backends/redis/server_error.hpp"

#include "net/reconnect_pause.hpp"

#include <utility>

namespace interlock::inline v1::redis_store {

master_courier::master_courier(const backend_environment& environment, connection_settings settings,
                               std::unique_ptr<locator> where)
    : loop_(environment.loop),
      time_(environment.time),
      events_(environment.events),
      settings_(std::move(settings)),
      locator_(std::move(where)) {}

result<void> master_courier::open() {
  connect();
  std::unique_lock lock(mutex_);
  first_.wait(lock, [&] { return opened_.has_value(); });
  return *opened_;
}

void master_courier::start() {
  {
    const std::lock_guard lock(mutex_);
    patient_ = true;
  }
  connect();
}

std::optional<failure> master_courier::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

void master_courier::connect() {
  locator_->find([weak = weak_from_this()](const result<endpoint>& where) {
    if (const auto self = weak.lock()) self->found(where);
  });
}

void master_courier::found(const result<endpoint>& where) {
  if (!where) return attempt_over(where.error());
  pointer next;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    next = talk_ = std::make_shared<connection>(*where, settings_, loop_, time_, *this, kept_mutex_);
    next->follow(forerunners_);
  }
  next->open();
}

void master_courier::up(connection& which, const server_facts& found) noexcept {
  pointer ears;
  bool first = false, another = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (listen_.get() != &which) {
      first = !std::exchange(was_up_, true);
      trouble_.reset();
      another = !first && (found.run_id.empty() || found.run_id != facts_.run_id || which.where() != where_);
      facts_ = found;
      forerunners_.add(found);
      where_ = which.where();
      attempts_ = 0;
      if (!found.resp3)
        ears = listen_ = std::make_shared<connection>(where_, settings_, loop_, time_, *this, kept_mutex_);
    }
  }
  if (ears) ears->open();
  listen(which);
  if (first && ears) return;  // not open before it can hear
  {
    const std::lock_guard lock(mutex_);
    if (!opened_) {
      opened_.emplace();
      first_.notify_all();
      if (!patient_) return;
    }
  }
  // Only now, behind the subscriptions: what happens from here on is heard.
  if (another) events_.another_server();
  events_.link(true);
}

// Asks for every channel that is wanted.
void master_courier::listen(connection& on) {
  std::vector<std::string> channels;
  {
    const std::lock_guard lock(mutex_);
    const auto& ears = listen_ ? listen_ : talk_;
    if (ears.get() != &on) return;
    channels = channels_.all();
  }
  for (const auto& one : channels) on.send_for_push(packet({"SUBSCRIBE", one}), [](const result<reply>&) {});
}

void master_courier::down(connection& which, const failure& why) noexcept {
  pointer other;
  bool was_up = false;
  const bool deaf = ears().get() == &which && current().get() != &which;
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || (!deaf && talk_.get() != &which)) return;
    other = deaf ? talk_ : listen_;
    listen_ = nullptr;
    was_up = opened_ && attempts_ == 0;
  }
  // One without the other is of no use: begin anew with both.
  if (other) loop_.post([other, why] { other->fail(why); });
  if (deaf) return;
  if (was_up) events_.link(false);
  attempt_over(why);
}

void master_courier::attempt_over(const failure& why) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    trouble_ = why;
    if (!opened_ && !patient_) {
      opened_.emplace(
          failure(why.kind() == errc::indeterminate ? errc::unavailable : why.kind(), "redis " + why.message()));
      first_.notify_all();
      return;
    }
  }
  connect_later();
}

void master_courier::connect_later() noexcept {
  milliseconds pause{};
  {
    const std::lock_guard lock(mutex_);
    pause = net::reconnect_pause(attempts_++, random_.fraction());
  }
  loop_.call_at(time_.now() + pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->connect();
  });
}

master_courier::pointer master_courier::current() const {
  const std::lock_guard lock(mutex_);
  return talk_;
}

master_courier::pointer master_courier::ears() const {
  const std::lock_guard lock(mutex_);
  return listen_ ? listen_ : talk_;
}

failure master_courier::not_connected() const {
  const std::lock_guard lock(mutex_);
  return failure(errc::unavailable, "redis " + (talk_ ? talk_->where() : where_).shown() + ": not connected");
}

server_facts master_courier::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

bool master_courier::refused(connection& which, const refusal& what, reply_handler&) noexcept {
  // It was a master and is a replica now: find out who is.
  if (error_code(what.error) == "READONLY")
    loop_.post([self = which.shared_from_this()] {
      self->fail(failure(errc::unavailable, self->where().shown() + ": it is no longer a master"));
    });
  return false;
}

// ---- messages

void master_courier::subscribe(std::string_view channel, reply_handler done) {
  pointer to;
  {
    const std::lock_guard lock(mutex_);
    channels_.add(channel);
    to = listen_ ? listen_ : talk_;
  }
  // Asked for again even if it is wanted already: only so `done` tells that it is heard.
  if (!to) return done(not_connected());
  to->send_for_push(packet({"SUBSCRIBE", channel}), std::move(done));
}

void master_courier::unsubscribe(std::string_view channel) {
  pointer to;
  {
    const std::lock_guard lock(mutex_);
    if (!channels_.remove(channel)) return;
    to = listen_ ? listen_ : talk_;
  }
  if (to) to->send_for_push(packet({"UNSUBSCRIBE", channel}), [](const result<reply>&) {});
}

void master_courier::pushed(connection&, reply what) noexcept {
  auto* const to = layout_.load();
  if (to != nullptr && what.size() == 3 && what[0].text() == "message") to->message(what[1].text(), what[2].text());
}

// ---- lending

void master_courier::flush() noexcept {
  if (const auto to = current()) to->flush_left();
}

int master_courier::borrow_news() noexcept {
  return loan_.begin_by([this](pointer& lent) {
    const std::lock_guard lock(mutex_);
    lent = talk_;
    return lent ? lent->borrow_locked() : -1;
  });
}

void master_courier::close() noexcept {
  pointer one, two;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    one = std::exchange(talk_, nullptr);
    two = std::exchange(listen_, nullptr);
  }
  locator_->close();
  if (one) one->close();
  if (two) two->close();
}

}  // namespace interlock::inline v1::redis_store
