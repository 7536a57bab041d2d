// SPDX-License-Identifier: MIT
#include "backends/etcd/grpc_streams.hpp"

#include <utility>

namespace interlock::inline v1::etcd_store {

namespace {
constexpr milliseconds before_watching_again{50};
}

// ---- renewals

bool keep_stream::ask(lease_id lease, completion<std::int64_t>& done) {
  std::uint64_t number = 0;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return false;
    number = ++asked_;
    open_.push_back({lease, number, std::move(done)});
    to_write_.push_back(lease);
    first = !std::exchange(writing_, true);
  }
  if (first) write_next();
  from().later(from().settings().timeout, [weak = weak_from_this(), this, number] {
    if (const auto self = weak.lock()) overdue(number);
  });
  return true;
}

void keep_stream::write_next() {
  {
    const std::lock_guard lock(mutex_);
    if (to_write_.empty() || over_) {
      writing_ = false;
      return;
    }
    out_.set_id(to_write_.front());
    to_write_.pop_front();
  }
  write(out_);
}

void keep_stream::overdue(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (open_.empty() || open_.front().number > number) return;
  }
  cancel();
}

void keep_stream::came(wire::LeaseKeepAliveResponse& what) {
  question answered;
  {
    const std::lock_guard lock(mutex_);
    if (open_.empty() || open_.front().lease != what.id()) return;
    answered = std::move(open_.front());
    open_.pop_front();
  }
  answered.done(what.ttl());
}

void keep_stream::ended(const grpc::Status& said) {
  std::deque<question> unanswered;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    unanswered.swap(open_);
  }
  from().stream_over(this);
  if (!unanswered.empty()) from().suspect(way());
  for (auto& each : unanswered)
    each.done(failure(errc::indeterminate, "etcd: a lease was not renewed: " + said.error_message()));
}

void grpc_link::keep_alive(lease_id lease, completion<std::int64_t> done) {
  for (int tries = 0; tries < 3; ++tries) {
    const auto along = renewals();
    if (!along) break;
    if (along->ask(lease, done)) return;
    stream_over(along.get());
  }
  done(failure(errc::unavailable, "etcd: no way to renew a lease"));
}

std::shared_ptr<keep_stream> grpc_link::renewals() {
  const std::lock_guard one_at_a_time(opening_);
  {
    const std::lock_guard lock(mutex_);
    if (keeping_) return keeping_;
  }
  auto made = std::make_shared<keep_stream>(shared_from_this());
  if (!made->open()) return {};
  const std::lock_guard lock(mutex_);
  keeping_ = made;
  return made;
}

void grpc_link::stream_over(const keep_stream* which) {
  const std::lock_guard lock(mutex_);
  if (keeping_.get() == which) keeping_.reset();
}

// ---- the watch

bool watch_stream::open() {
  auto& wanted = *out_.mutable_create_request();
  wanted.set_key(from().watched().key);
  wanted.set_range_end(from().watched().end);
  wanted.add_filters(wire::WatchCreateRequest::NOPUT);
  from().later(from().settings().timeout, [weak = weak_from_this(), this] {
    if (const auto self = weak.lock(); self && !created_) cancel();
  });
  return grpc_stream::open("/etcdserverpb.Watch/Watch");
}

void watch_stream::came(wire::WatchResponse& what) {
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

void watch_stream::ended(const grpc::Status& said) {
  if (lost_touch(said)) from().suspect(way());
  from().watch_over(this, created_);
}

void grpc_link::watch(key_range keys, link_listener& to) {
  watched_ = std::move(keys);
  listener_ = &to;
  start_watch();
}

void grpc_link::start_watch() {
  const auto next = std::make_shared<watch_stream>(shared_from_this());
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    watching_ = next;
  }
  next->open();
}

void grpc_link::watch_over(const watch_stream* which, bool told) {
  {
    const std::lock_guard lock(mutex_);
    if (watching_.get() == which) watching_.reset();
    if (closed_) return;
  }
  if (told) listener_->blind();
  later(before_watching_again, [this] { start_watch(); });
}

}  // namespace interlock::inline v1::etcd_store
