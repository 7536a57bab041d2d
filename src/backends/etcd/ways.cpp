// SPDX-License-Identifier: MIT
#include "backends/etcd/http2_link.hpp"
#include "backends/etcd/streams.hpp"

#include "net/reconnect_pause.hpp"

#include <utility>

/// Which member is talked to.
namespace interlock::inline v1::etcd_store {

namespace {
constexpr milliseconds least_stay{100};  // on one member: a change of members costs the watch
}

std::shared_ptr<link> link::make(etcd_settings settings, reactor& loop, const time_source& time) {
  return std::make_shared<http2_link>(std::move(settings), loop, time);
}

http2_link::http2_link(etcd_settings settings, reactor& loop, const time_source& time)
    : settings_(std::make_shared<const etcd_settings>(std::move(settings))), loop_(loop), time_(time) {}

http2_link::~http2_link() { close(); }

// [mutex_]
http2_link::way http2_link::connect(std::size_t endpoint) {
  auto made = std::make_shared<http2_connection>(settings_->endpoints.at(endpoint), settings_, loop_, time_, *this);
  all_.insert(made);
  made->start();
  return made;
}

result<http2_link::way> http2_link::current() {
  const std::lock_guard lock(mutex_);
  if (closed_) return failure(errc::closed, "closed");
  if (way_) return way_;
  if (failures_ >= settings_->endpoints.size() && time_.now() < not_before_) return failure(errc::unavailable, wrong_);
  way_ = connect(endpoint_);
  return way_;
}

result<void> http2_link::begin(const exchange_ptr& what, std::string message, inline_work here) {
  std::string token;
  for (int tries = 0; tries < 3; ++tries) {
    const auto along = current();
    if (!along) return along.error();
    {
      const std::lock_guard lock(mutex_);
      token = token_;
    }
    if ((*along)->begin(what, message, token, here)) return {};
    move_on(along->get());  // it takes no more
  }
  return failure(errc::unavailable, "no connection lasts");
}

// Along a way of its own, which ends with it.
result<void> http2_link::begin_at(std::size_t endpoint, const exchange_ptr& what, std::string message) {
  way made;
  std::string token;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return failure(errc::closed, "closed");
    made = connect(endpoint);
    token = token_;
  }
  const bool begun = made->begin(what, message, token, inline_work::never);
  made->retire();
  if (!begun) return failure(errc::unavailable, "no connection lasts");
  return {};
}

// [no lock] From this way, if it is the current one, to the next member.
void http2_link::move_on(const http2_connection* from) {
  way left;
  std::shared_ptr<keep_stream> keeping;
  std::shared_ptr<watch_stream> watching;
  {
    const std::lock_guard lock(mutex_);
    if (way_.get() != from || !way_) return;
    left = std::exchange(way_, nullptr);
    moved_ = time_.now();
    endpoint_ = (endpoint_ + 1) % settings_->endpoints.size();
    keeping = std::exchange(keeping_, nullptr);
    watching = watching_;
  }
  left->retire();
  if (keeping) keeping->cancel();
  if (watching) watching->cancel();
}

void http2_link::suspect(const way& which) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || time_.now() - moved_ < least_stay) return;
  }
  move_on(which.get());
}

void http2_link::other_way() {
  way which;
  {
    const std::lock_guard lock(mutex_);
    which = way_;
  }
  suspect(which);
}

void http2_link::up(http2_connection& which) noexcept {
  const std::lock_guard lock(mutex_);
  if (way_.get() == &which) failures_ = 0;
}

void http2_link::leaving(http2_connection& which) noexcept { move_on(&which); }

void http2_link::down(http2_connection& which, const failure& why) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [&](const way& one) { return one.get() == &which; });
  if (closed_ || way_.get() != &which) return;
  way_ = nullptr;
  wrong_ = why.message();
  moved_ = time_.now();
  endpoint_ = (endpoint_ + 1) % settings_->endpoints.size();
  ++failures_;  // up() begins anew
  const auto rounds = failures_ / static_cast<unsigned>(settings_->endpoints.size());
  if (rounds > 0) not_before_ = moved_ + net::reconnect_pause(rounds - 1, random_.fraction());
}

// ---- callers that read for themselves

int http2_link::borrow() noexcept {
  return loan_.begin([this] {
    const std::lock_guard lock(mutex_);
    return way_;
  });
}

// ---- the end

void http2_link::later(milliseconds delay, unique_function<void()> work) {
  loop_.call_at(time_.now() + delay, [weak = weak_from_this(), work = std::move(work)]() mutable {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->closed_) return;
    }
    work();
  });
}

void http2_link::close() noexcept {
  std::set<way> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all = all_;
    way_ = nullptr;
  }
  for (const auto& one : all) one->close();
  const std::lock_guard lock(mutex_);
  keeping_.reset();
  watching_.reset();
}

}  // namespace interlock::inline v1::etcd_store
