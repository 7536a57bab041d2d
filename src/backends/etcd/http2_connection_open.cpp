// SPDX-License-Identifier: MIT
#include "backends/etcd/http2_connection.hpp"

#include <algorithm>
#include <string>
#include <utility>

/// How a connection comes up, and how it is looked after while nothing is said.
namespace interlock::inline v1::etcd_store {
namespace {

// More often than every 5 s earns a GOAWAY: https://etcd.io/docs/v3.4/op-guide/configuration/
constexpr milliseconds between_looks{10'000};

// Eight digits at most.
std::string grpc_timeout(milliseconds span) { return std::to_string(std::min(span.count(), 99'999'999L)) + "m"; }

}  // namespace

void http2_connection::start() {
  const std::lock_guard lock(mutex_);
  away_.start(
      "interlock-dial", loop_,
      [where = where_, settings = settings_](const std::atomic<bool>& cancelled) {
        return dial(where, *settings, cancelled);
      },
      [weak = weak_from_this()](result<net::established> made) {
        if (const auto self = weak.lock()) self->dialled(std::move(made));
      });
}

result<net::established> http2_connection::dial(const endpoint& where, const etcd_settings& settings,
                                                const std::atomic<bool>& cancelled) {
  const net::dial attempt(settings.connect_timeout, cancelled);
  net::established out;
  if (auto up = attempt.tcp(where.host, where.port, settings.timeout, out); !up) return up.error();
  if (settings.tls) {
    auto made = net::tls_stream(out.socket, settings.tls, where.host);
    if (!made) return made.error();
    out.bytes = std::move(*made);
  } else {
    out.bytes = net::plain_stream(out.socket);
  }
  if (auto secured = attempt.shake_hands(out); !secured) return secured.error();
  return out;
}

// On the loop. What we say first goes out at once; calls follow when the server has said its part, so that whatever
// speaks another protocol is sent none.
void http2_connection::dialled(result<net::established> made) {
  const std::lock_guard reading(reading_);
  if (!made) return drop(lost(made.error().message()));
  {
    const std::lock_guard lock(mutex_);
    if (state_ != state::dialling) return;
    state_ = state::greeting;
    socket_ = std::exchange(made->socket, -1);
    bytes_ = std::move(made->bytes);
    session_.emplace(where_.shown(), settings_->tls != nullptr, grpc_timeout(settings_->timeout));
    gate_.open(socket_, loop_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->turn();
    });
    flush(hurry::yes);
  }
  loop_.call_at(time_.now() + settings_->connect_timeout, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    const std::lock_guard again(self->reading_);
    {
      const std::lock_guard lock(self->mutex_);
      if (self->state_ != state::greeting) return;
    }
    self->drop(self->lost("no greeting in time"));
  });
}

// [mutex_]
void http2_connection::greeted() {
  state_ = state::up;
  heard_ = true;
  for (auto& one : std::exchange(early_, {})) open(one);
  loop_.call_at(time_.now() + between_looks, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look_after();
  });
}

// On the loop. A server that has said nothing for a while is asked whether it is there, and then has to say something.
void http2_connection::look_after() {
  const std::lock_guard reading(reading_);
  auto next = between_looks;
  bool silent = false;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != state::up) return;
    const bool heard = std::exchange(heard_, false);
    silent = asked_ && !heard;
    asked_ = !heard;
    if (asked_ && !silent) {
      session_->ping();
      if (!borrowed_) gate_.read(true);
      flush(hurry::yes);
      next = settings_->timeout;
    }
  }
  if (silent) return drop(lost("it has fallen silent"));
  loop_.call_at(time_.now() + next, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look_after();
  });
}

}  // namespace interlock::inline v1::etcd_store
