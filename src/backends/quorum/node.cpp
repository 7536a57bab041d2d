// SPDX-License-Identifier: MIT
#include "backends/quorum/node.hpp"

#include "backends/quorum/native_raise.lua.hpp"
#include "backends/quorum/plain_raise.lua.hpp"
#include "backends/redis/info.hpp"
#include "backends/redis/native_keys.hpp"
#include "backends/redis/native_record.hpp"
#include "backends/redis/plain_keys.hpp"
#include "backends/redis/plain_scripts.hpp"

#include <charconv>
#include <mutex>
#include <utility>

namespace interlock::inline v1::quorum_store {

using redis_store::packet;
using redis_store::reply;
using redis_store::script;

namespace {

constexpr std::string_view mark_key = "ilk1:quorum";
constexpr std::string_view mark_life = "604800";  // a week, in seconds: much longer than any sensible lease

const script& plain_raise() {
  static const script one(embedded::quorum_plain_raise_lua);
  return one;
}
const script& native_raise() {
  static const script one(embedded::quorum_native_raise_lua);
  return one;
}

std::chrono::seconds seconds_in(std::string_view text) noexcept {
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return std::chrono::seconds(out);
}

}  // namespace

result<std::unique_ptr<node>> node::make(unsigned number, const backend_environment& environment,
                                         const quorum_settings::server& which, owner& of) {
  auto one = std::unique_ptr<node>(new node(number, which, of));
  const auto& mine = one->server_;
  one->way_ = std::make_shared<redis_store::master_courier>(
      backend_environment{mine.url, environment.options, environment.time, *one, environment.loop},
      mine.redis.connection, std::make_unique<redis_store::fixed_locator>(mine.redis.endpoints.front()));
  const redis_store::layout_environment from{*one->way_, *one, mine.url, environment.time};
  auto made =
      mine.redis.layout == "native" ? redis_store::make_native_layout(from) : redis_store::make_plain_layout(from);
  if (!made) return made.error();
  one->locks_ = std::move(*made);
  return one;
}

void node::start() {
  way_->deliver_to(*locks_);
  locks_->begin();
  way_->start();
}

void node::link(bool up) noexcept {
  up_ = up;
  if (up) inquire();
  owner_.link(number_, up);
}

// ---- is it the server that it was?

struct node::inquiry {
  std::mutex mutex;
  node_memory found;
  unsigned open = 3;
};

void node::inquire() noexcept {
  auto all = std::make_shared<inquiry>();
  all->found.run_id = way_->facts().run_id;
  const auto arrived = [this, all] {
    {
      const std::lock_guard lock(all->mutex);
      if (--all->open > 0) return;
    }
    owner_.remembers(number_, all->found);
  };
  way_->send(packet({"GET", mark_key}, mark_key), inline_work::never, [all, arrived](const result<reply>& got) {
    {
      const std::lock_guard lock(all->mutex);
      all->found.readable = got.has_value();
      if (got) all->found.mark = got->text();
    }
    arrived();
  });
  way_->send(packet({"INFO", "server"}), inline_work::never, [all, arrived](const result<reply>& got) {
    if (got) {
      const std::lock_guard lock(all->mutex);
      all->found.up_for = seconds_in(redis_store::info_field(got->text(), "uptime_in_seconds"));
    }
    arrived();
  });
  way_->send(packet({"CONFIG", "GET", "append*"}), inline_work::never, [all, arrived](const result<reply>& got) {
    if (got) {
      bool log = false, always = false;
      for (std::size_t i = 0; i + 1 < got->size(); i += 2) {
        log = log || ((*got)[i].text() == "appendonly" && (*got)[i + 1].text() == "yes");
        always = always || ((*got)[i].text() == "appendfsync" && (*got)[i + 1].text() == "always");
      }
      const std::lock_guard lock(all->mutex);
      all->found.synced = log && always;
    }
    arrived();
  });
}

void node::mark(const std::string& run_id, unique_function<void()> done) {
  way_->send(packet({"SET", mark_key, run_id, "EX", mark_life}, mark_key), inline_work::never,
             [done = std::move(done)](const result<reply>&) mutable { done(); });
}

// ---- tokens

void node::raise(const claim& who, const token_news& what, inline_work here, completion<bool> done) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  auto answer = [done = std::move(done)](const result<reply>& got) mutable {
    if (got)
      done(true);
    else
      done(got.error());
  };
  const auto life = redis_store::companion_life(who.lease).count();
  // Whatever the claim was given is only then the answer to that question if nothing was asked in between. So this is
  // not sent again, as a script's call is that the server does not know any more.
  const auto behind = [&](const script& raise, std::string_view key, std::string_view id) {
    const auto to = std::to_string(what.to), token = std::to_string(what.token), keep = std::to_string(life);
    way_->send(packet({"EVALSHA", raise.sha, "1", key, to, token, id, keep, "-1"}, key), here, std::move(answer));
  };
  if (server_.redis.layout == "native") {
    std::string book;
    redis_store::native::book_key(book, who.name);
    if (what.behind) return behind(native_raise(), book, redis_store::native::bytes_of(who.secret));
    packet out(native_raise(), {book}, 5);
    out.arg(number(what.to)).arg(number(what.token)).arg(redis_store::native::bytes_of(who.secret));
    out.arg(life).arg(number(what.instead_of));
    return way_->send(out, here, std::move(answer));
  }
  const auto value = redis_store::value_of(who.secret);
  const auto companion = redis_store::beside(locks_->route(who.name), redis_store::companion_letter);
  if (what.behind) return behind(plain_raise(), companion, {value.data(), value.size()});
  packet out(plain_raise(), {companion}, 5);
  out.arg(number(what.to)).arg(number(what.token));
  out.arg(std::string_view(value.data(), value.size())).arg(life).arg(number(what.instead_of));
  way_->send(out, here, std::move(answer));
}

}  // namespace interlock::inline v1::quorum_store
