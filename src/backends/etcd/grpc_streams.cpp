// SPDX-License-Identifier: MIT
#include "backends/etcd/grpc_streams.hpp"

#include <utility>

namespace interlock::inline v1::etcd_store {

namespace {
constexpr milliseconds before_watching_again{50};
}

// ---- renewals

bool keep_stream::open() {
  const auto along = from_->begin({shared_from_this(), &context_}, false);
  if (!along.channel) return false;
  way_ = along.number;
  self_ = shared_from_this();
  grpc::TemplatedGenericStub<wire::LeaseKeepAliveRequest, wire::LeaseKeepAliveResponse>(along.channel)
      .PrepareBidiStreamingCall(&context_, "/etcdserverpb.Lease/LeaseKeepAlive", {}, this);
  AddHold();  // writes begin outside of gRPC's callbacks
  StartRead(&in_);
  StartCall();
  return true;
}

bool keep_stream::ask(lease_id lease, completion<std::int64_t>& done) {
  std::uint64_t number = 0;
  bool write = false;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return false;
    number = ++asked_;
    open_.push_back({lease, number, std::move(done)});
    to_write_.push_back(lease);
    write = !std::exchange(writing_, true);
    if (write) AddHold();
  }
  if (write) {
    write_next();
    RemoveHold();
  }
  from_->later(from_->settings().timeout, [weak = weak_from_this(), number] {
    if (const auto self = weak.lock()) self->overdue(number);
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
  StartWrite(&out_);
}

void keep_stream::OnWriteDone(bool ok) {
  if (ok) write_next();
}

void keep_stream::overdue(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (open_.empty() || open_.front().number > number) return;
  }
  context_.TryCancel();
}

void keep_stream::OnReadDone(bool ok) {
  if (!ok) {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    RemoveHold();
    return;
  }
  question answered;
  {
    const std::lock_guard lock(mutex_);
    if (!open_.empty() && open_.front().lease == in_.id()) {
      answered = std::move(open_.front());
      open_.pop_front();
    }
  }
  const auto seconds = in_.ttl();
  StartRead(&in_);
  try {
    if (answered.done) answered.done(seconds);
  } catch (...) {  // gRPC would swallow it, and the stream would hang
  }
}

void keep_stream::OnDone(const grpc::Status& said) {
  std::deque<question> unanswered;
  std::shared_ptr<keep_stream> self;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    unanswered.swap(open_);
    self = std::move(self_);
  }
  from_->stream_over(this);
  if (!unanswered.empty()) from_->suspect(way_);
  try {
    for (auto& each : unanswered)
      each.done(failure(errc::indeterminate, "etcd: a lease was not renewed: " + said.error_message()));
  } catch (...) {
  }
  const auto from = from_;
  const auto* const context = &context_;
  self.reset();
  from->end(context);
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
  const auto along = from_->begin({shared_from_this(), &context_}, false);
  if (!along.channel) return false;
  way_ = along.number;
  self_ = shared_from_this();
  auto& wanted = *out_.mutable_create_request();
  wanted.set_key(from_->watched().key);
  wanted.set_range_end(from_->watched().end);
  wanted.add_filters(wire::WatchCreateRequest::NOPUT);
  wanted.set_prev_kv(true);
  grpc::TemplatedGenericStub<wire::WatchRequest, wire::WatchResponse>(along.channel)
      .PrepareBidiStreamingCall(&context_, "/etcdserverpb.Watch/Watch", {}, this);
  from_->later(from_->settings().timeout, [weak = weak_from_this()] {
    if (const auto one = weak.lock(); one && !one->created_) one->context_.TryCancel();
  });
  StartWrite(&out_);
  StartRead(&in_);
  StartCall();
  return true;
}

// false: the server has ended it, e.g. because it has lost its leader.
bool watch_stream::take() {
  if (in_.created() && !in_.canceled()) {
    created_ = true;
    from_->listener().watching(in_.header().revision());
  }
  if (in_.canceled()) return false;
  std::vector<deletion> gone;
  for (auto& one : *in_.mutable_events())
    if (one.type() == wire::Event::DELETE)
      gone.push_back({std::move(*one.mutable_kv()->mutable_key()), one.kv().mod_revision(),
                      one.has_prev_kv() ? one.prev_kv().create_revision() : 0});
  if (!gone.empty()) from_->listener().deleted(std::move(gone));
  return true;
}

void watch_stream::OnReadDone(bool ok) {
  if (!ok) return;
  bool on = false;
  try {
    on = take();
  } catch (...) {  // gRPC would swallow it, and the stream would hang
  }
  if (!on) context_.TryCancel();
  StartRead(&in_);
}

void watch_stream::OnDone(const grpc::Status& said) {
  auto self = std::move(self_);
  if (lost_touch(said)) from_->suspect(way_);
  from_->watch_over(this, created_);
  const auto from = from_;
  const auto* const context = &context_;
  self.reset();
  from->end(context);
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
