// SPDX-License-Identifier: MIT
#include "backends/etcd/streams.hpp"

#include <utility>

namespace interlock::inline v1::etcd_store {

namespace {
constexpr milliseconds before_watching_again{50};
}

// ---- renewals

bool keep_stream::ask(lease_id lease, completion<std::int64_t>& done) {
  wire::LeaseKeepAliveRequest request;
  request.set_id(lease);
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto on = along();
    if (over_ || !on) return false;
    number = ++asked_;
    open_.push_back({lease, number, std::move(done)});
    on->say(*this, framed(request));  // in the order of the questions
  }
  from().later(from().settings().timeout, [weak = weak_from_this(), this, number] {
    if (const auto self = weak.lock()) overdue(number);
  });
  return true;
}

void keep_stream::overdue(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (open_.empty() || open_.front().number > number) return;
  }
  cancel();
}

void keep_stream::came(std::string_view message) {
  wire::LeaseKeepAliveResponse what;
  if (!what.ParseFromArray(message.data(), static_cast<int>(message.size()))) return cancel();
  question answered;
  {
    const std::lock_guard lock(mutex_);
    if (open_.empty() || open_.front().lease != what.id()) return;
    answered = std::move(open_.front());
    open_.pop_front();
  }
  answered.done(what.ttl());
}

void keep_stream::ended(const call_end& how) {
  std::deque<question> unanswered;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    unanswered.swap(open_);
  }
  from().stream_over(this);
  if (!unanswered.empty()) from().suspect(along());
  const auto code = how.is == call_end::kind::never_sent ? errc::unavailable : errc::indeterminate;
  for (auto& each : unanswered) each.done(failure(code, "etcd: a lease was not renewed: " + how.words));
}

void http2_link::keep_alive(lease_id lease, completion<std::int64_t> done) {
  for (int tries = 0; tries < 3; ++tries) {
    const auto along = renewals();
    if (!along) break;
    if (along->ask(lease, done)) return;
    stream_over(along.get());
  }
  done(failure(errc::unavailable, "etcd: no way to renew a lease"));
}

std::shared_ptr<keep_stream> http2_link::renewals() {
  const std::lock_guard one_at_a_time(opening_);
  {
    const std::lock_guard lock(mutex_);
    if (keeping_) return keeping_;
  }
  auto made = std::make_shared<keep_stream>(shared_from_this());
  if (!made->open()) return {};
  const std::lock_guard lock(mutex_);
  if (!closed_) keeping_ = made;
  return made;
}

void http2_link::stream_over(const keep_stream* which) {
  const std::lock_guard lock(mutex_);
  if (keeping_.get() == which) keeping_.reset();
}

// ---- the watch

bool watch_stream::open() {
  wire::WatchRequest request;
  auto& wanted = *request.mutable_create_request();
  wanted.set_key(from().watched().key);
  wanted.set_range_end(from().watched().end);
  wanted.add_filters(wire::WatchCreateRequest::NOPUT);
  from().later(from().settings().timeout, [weak = weak_from_this(), this] {
    if (const auto self = weak.lock(); self && !created_) cancel();
  });
  return from().begin(shared_from_this(), framed(request), inline_work::never).has_value();
}

void watch_stream::came(std::string_view message) {
  wire::WatchResponse what;
  if (!what.ParseFromArray(message.data(), static_cast<int>(message.size()))) return cancel();
  if (what.created() && !what.canceled()) {
    if (!from().ours(what.header(), 0)) return cancel();
    created_ = true;
    from().listener().watching(what.header().revision());
  }
  if (what.canceled()) return cancel();  // by the server, e.g. because it has lost its leader
  std::vector<deletion> gone;
  for (auto& one : *what.mutable_events())
    if (one.type() == wire::Event::DELETE)
      gone.push_back({std::move(*one.mutable_kv()->mutable_key()), one.kv().mod_revision()});
  if (!gone.empty()) from().listener().deleted(std::move(gone));
}

void watch_stream::ended(const call_end& how) {
  if (lost_touch(how)) from().suspect(along());
  from().watch_over(this, created_);
}

void http2_link::watch(key_range keys, link_listener& to) {
  watched_ = std::move(keys);
  listener_ = &to;
  start_watch();
}

void http2_link::start_watch() {
  const auto next = std::make_shared<watch_stream>(shared_from_this());
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    watching_ = next;
  }
  if (!next->open()) watch_over(next.get(), false);
}

void http2_link::watch_over(const watch_stream* which, bool told) {
  {
    const std::lock_guard lock(mutex_);
    if (watching_.get() == which) watching_.reset();
    if (closed_) return;
  }
  if (told) listener_->blind();
  later(before_watching_again, [this] { start_watch(); });
}

}  // namespace interlock::inline v1::etcd_store
