// SPDX-License-Identifier: MIT
#include "backends/redis/cluster_courier.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

/// Messages: who is asked for them, and asked anew when slots or connections have moved.
namespace interlock::inline v1::redis_store {

// [mutex_] A message published to a channel with a tag may come from the one shard that has the tag's slot.
cluster_ears::pointer cluster_courier::shard_of(std::string_view channel) const {
  if (!facts_.sharded_pubsub || channel.find('{') == channel.npos) return {};
  const auto* const at = owner_of(slot_of(channel));
  return at == nullptr ? pointer{} : at->hears();
}

// [mutex_]
void cluster_courier::choose_ears() {
  if (ears_.has_any()) return;
  for (const auto& [where, at] : nodes_)
    if (at.is_up) return ears_.listen_at(at.hears());
}

// Asks for what is missing since connections or slots have changed. `then`: when all of it has been answered.
void cluster_courier::hear(std::function<void()> then) noexcept {
  std::vector<cluster_ears::missing> all;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    choose_ears();
    all = ears_.settle([this](std::string_view channel) { return shard_of(channel); });
  }
  if (all.empty() && then) return then();
  const auto last = std::make_shared<std::atomic<std::size_t>>(all.size());
  for (const auto& one : all)
    ask_for(one, [weak = weak_from_this(), last, then](const result<reply>&) {
      if (--*last > 0 || !then) return;
      if (const auto self = weak.lock()) then();
    });
}

// A shard that has just lost the slot says so; whoever has it is asked when the new map is there.
void cluster_courier::ask_for(const cluster_ears::missing& what, reply_handler done) {
  if (!what.of_shard) return what.at->send_for_push(packet({"SUBSCRIBE", what.channel}), std::move(done));
  what.at->send_for_push(packet({"SSUBSCRIBE", what.channel}),
                         [weak = weak_from_this(), what, done = std::move(done)](const result<reply>& got) mutable {
                           const auto self = weak.lock();
                           if (self && !got && got.error().kind() == errc::unavailable) {
                             {
                               const std::lock_guard lock(self->mutex_);
                               self->ears_.unheard(what.channel, *what.at);
                             }
                             self->refresh_soon();
                           }
                           done(got);
                         });
}

void cluster_courier::subscribe(std::string_view channel, reply_handler done) {
  std::vector<cluster_ears::missing> all;
  bool deaf = false;
  {
    const std::lock_guard lock(mutex_);
    choose_ears();
    deaf = !ears_.has_any();
    all = ears_.add(channel, [this](std::string_view of) { return shard_of(of); });
  }
  if (deaf) return done(nowhere("no node to listen to"));
  // Heard when both are; what the plain one says counts.
  struct awaited {
    std::atomic<std::size_t> left;
    std::optional<failure> wrong;
    reply_handler done;
  };
  const auto shared = std::make_shared<awaited>();
  shared->left = all.size();
  shared->done = std::move(done);
  for (const auto& one : all)
    ask_for(one, [shared, plain = !one.of_shard](const result<reply>& got) {
      if (plain && !got) shared->wrong = got.error();
      if (--shared->left > 0) return;
      shared->done(shared->wrong ? result<reply>(*shared->wrong) : got);
    });
}

void cluster_courier::unsubscribe(std::string_view channel) {
  std::optional<cluster_ears::place> was;
  {
    const std::lock_guard lock(mutex_);
    was = ears_.remove(channel);
  }
  if (!was) return;
  if (was->plain) was->plain->send_for_push(packet({"UNSUBSCRIBE", channel}), [](const result<reply>&) {});
  if (was->shard) was->shard->leave_shard(channel);
}

void cluster_courier::pushed(connection& which, reply what) noexcept {
  const auto word = what[0].text();
  auto* const to = layout_.load();
  if (to != nullptr && what.size() == 3 && (word == "message" || word == "smessage"))
    return to->message(what[1].text(), what[2].text());
  if (word != "sunsubscribe") return;  // its slot has gone elsewhere
  {
    const std::lock_guard lock(mutex_);
    ears_.unheard(what[1].text(), which);
  }
  refresh_soon();
}

}  // namespace interlock::inline v1::redis_store
