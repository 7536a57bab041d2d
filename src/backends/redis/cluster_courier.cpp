// SPDX-License-Identifier: MIT
#include "backends/redis/cluster_courier.hpp"

#include "backends/redis/server_error.hpp"

#include "net/reconnect_pause.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::redis_store {
namespace {

constexpr std::string_view asking = "*1\r\n$6\r\nASKING\r\n";
constexpr unsigned most_hops = 5;
constexpr milliseconds refresh_pause{100};
constexpr milliseconds first_pause{20};
constexpr std::size_t most_waiting = 10'000;

std::pair<std::string, std::uint16_t> key_of(const endpoint& where) { return {where.host, where.port}; }

failure nowhere(std::string_view why) { return failure(errc::unavailable, "redis cluster: " + std::string(why)); }

// A message published to a channel with a tag may come from the one shard that has the tag's slot.
bool of_one_shard(std::string_view channel) { return channel.find('{') != channel.npos; }

}  // namespace

cluster_courier::cluster_courier(const backend_environment& environment, connection_settings settings,
                                 std::vector<endpoint> seeds)
    : loop_(environment.loop),
      time_(environment.time),
      events_(environment.events),
      settings_([&] {
        settings.replica_is_fine = true;  // any node can show the map
        return std::move(settings);
      }()),
      seeds_(std::move(seeds)) {}

result<void> cluster_courier::open() {
  refresh();
  std::unique_lock lock(mutex_);
  const bool done = first_.wait_for(lock, settings_.connect_timeout, [&] { return opened_.has_value(); });
  if (!done)
    return nowhere("no connection to all its masters within " + std::to_string(settings_.connect_timeout.count()) +
                   " ms");
  return *opened_;
}

// ---- connections

cluster_courier::pointer cluster_courier::connect_to(const endpoint& where) {
  pointer made;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return {};
    auto& at = nodes_[key_of(where)];
    if (at.link) return at.link;
    made = at.link = std::make_shared<connection>(where, settings_, loop_, time_, *this);
    made->follow(at.forerunners);
  }
  made->open();
  return made;
}

void cluster_courier::up(connection& which, const server_facts& found) noexcept {
  std::vector<parked> waiting;
  bool wants_map = false, another = false, again = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    auto& at = nodes_[key_of(which.where())];
    if (at.link.get() != &which) return;
    again = !at.run_id.empty();
    another = again && (found.run_id.empty() || found.run_id != at.run_id);
    at.is_up = true;
    at.attempts = 0;
    at.forerunners.add(found);
    at.run_id = found.run_id.empty() ? "unknown" : found.run_id;
    waiting.swap(at.waiting);
    facts_ = found;
    wants_map = !mapped_ || refreshing_;
  }
  listen(which, false);
  const auto self = which.shared_from_this();
  for (auto& one : waiting) {
    which.send(
        {.bytes = one.bytes, .called = one.called, .hops = one.hops, .first = one.asking ? asking : std::string_view{}},
        inline_work::never, std::move(one.done));
  }
  if (wants_map) ask_map(self);
  settle_opening(nullptr);
  if (another) events_.another_server();
  if (again) events_.link(true);
}

void cluster_courier::down(connection& which, const failure& why) noexcept {
  std::vector<parked> waiting;
  bool was_up = false, has_slots = false, opening = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    auto& at = nodes_[key_of(which.where())];
    if (at.link.get() != &which) return;
    was_up = std::exchange(at.is_up, false);
    at.link = nullptr;
    waiting.swap(at.waiting);
    has_slots = std::find(map_.masters.begin(), map_.masters.end(), which.where()) != map_.masters.end();
    opening = !opened_;
    if (ears_.get() == &which) ears_ = nullptr;
  }
  for (auto& one : waiting) one.done(failure(errc::unavailable, why.message()));
  if (was_up && has_slots) events_.link(false);
  if (has_slots) connect_later(which.where());
  if (auto next = ears()) listen(*next, true);
  if (opening && !mapped_) return settle_opening(&why);
  refresh_soon();
}

void cluster_courier::connect_later(const endpoint& where) noexcept {
  milliseconds pause{};
  {
    const std::lock_guard lock(mutex_);
    auto& at = nodes_[key_of(where)];
    if (std::exchange(at.retrying, true)) return;
    pause = net::reconnect_pause(at.attempts++, random_.fraction(), first_pause);
  }
  loop_.call_at(time_.now() + pause, [weak = weak_from_this(), where] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      self->nodes_[key_of(where)].retrying = false;
      const auto& all = self->map_.masters;
      if (std::find(all.begin(), all.end(), where) == all.end()) return;  // it has no slots any more
    }
    self->connect_to(where);
  });
}

cluster_courier::pointer cluster_courier::at_slot(std::uint16_t slot) const {
  const std::lock_guard lock(mutex_);
  const auto index = map_.owner[slot];
  if (index == cluster_map::nobody) return {};
  const auto found = nodes_.find(key_of(map_.masters[index]));
  return found == nodes_.end() || !found->second.is_up ? pointer{} : found->second.link;
}

cluster_courier::pointer cluster_courier::any_up() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [where, at] : nodes_)
    if (at.is_up) return at.link;
  return {};
}

// ---- the map

void cluster_courier::refresh_soon() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || std::exchange(refreshing_, true)) return;
  }
  loop_.call_at(time_.now() + refresh_pause, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->refresh();
  });
}

void cluster_courier::refresh() {
  if (const auto one = any_up()) return ask_map(one);
  endpoint seed;
  {
    const std::lock_guard lock(mutex_);
    seed = seeds_[next_seed_++ % seeds_.size()];
  }
  connect_to(seed);  // and asks it when it is up
}

void cluster_courier::ask_map(const pointer& whom) {
  whom->send(packet({"CLUSTER", "SLOTS"}), inline_work::never,
             [weak = weak_from_this(), asked = whom->where()](const result<reply>& got) {
               if (const auto self = weak.lock()) self->learned(asked, got);
             });
}

void cluster_courier::learned(const endpoint& asked, const result<reply>& slots) {
  auto found = slots ? read_cluster_map(*slots, asked) : std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    refreshing_ = false;
  }
  if (found) return adopt(std::move(*found));
  const auto why =
      slots ? nowhere(asked.shown() + " shows no slots: is the cluster made?")
            : failure(slots.error().kind(), "redis cluster: " + asked.shown() + ": " + slots.error().message());
  settle_opening(&why);
  refresh_soon();
}

void cluster_courier::adopt(cluster_map found) {
  std::vector<endpoint> fresh;
  std::vector<pointer> over;
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    for (std::size_t slot = 0; mapped_ && !changed && slot < cluster_map::slots; ++slot) {
      const auto before = map_.owner[slot], after = found.owner[slot];
      changed = (before == cluster_map::nobody) != (after == cluster_map::nobody) ||
                (after != cluster_map::nobody && map_.masters[before] != found.masters[after]);
    }
    map_ = std::move(found);
    mapped_ = true;
    fresh = map_.masters;
    for (auto& [where, at] : nodes_) {  // nodes without slots are let go of
      const auto& node_key = where;
      const bool wanted =
          std::any_of(fresh.begin(), fresh.end(), [&](const endpoint& one) { return key_of(one) == node_key; });
      if (wanted || !at.link || !at.waiting.empty()) continue;
      over.push_back(std::exchange(at.link, nullptr));
      at.is_up = false;
      if (ears_ == over.back()) ears_ = nullptr;
    }
  }
  for (const auto& one : over)
    loop_.post([one] { one->fail(nowhere(one->where().shown() + " has no slots any more")); });
  for (const auto& one : fresh) connect_to(one);
  if (auto next = ears()) listen(*next, true);
  settle_opening(nullptr);
  if (!changed) return;
  events_.another_server();
  events_.link(true);
}

// The first time: done when every master is up, or when the seeds have all been asked in vain.
void cluster_courier::settle_opening(const failure* why) {
  bool next = false;
  {
    const std::lock_guard lock(mutex_);
    if (opened_) return;
    if (why != nullptr) {
      if (next_seed_ < seeds_.size())
        next = true;
      else
        opened_.emplace(*why);
    } else if (mapped_ && std::all_of(map_.masters.begin(), map_.masters.end(), [&](const endpoint& one) {
                 const auto found = nodes_.find(key_of(one));
                 return found != nodes_.end() && found->second.is_up;
               })) {
      opened_.emplace();
    }
    if (opened_) first_.notify_all();
  }
  if (next) refresh();
}

// ---- requests

void cluster_courier::flush() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [where, one] : nodes_)
    if (one.link) one.link->flush_left();
}

void cluster_courier::send(const packet& what, inline_work here, reply_handler&& done) {
  if (const auto to = at_slot(what.slot())) return to->send(what, here, std::move(done));
  refresh_soon();
  done(nowhere("the slot " + std::to_string(what.slot()) + " has no master that can be reached"));
}

std::size_t cluster_courier::masters() const {
  const std::lock_guard lock(mutex_);
  return map_.masters.size();
}

void cluster_courier::send_to(std::size_t master, const packet& what, reply_handler done) {
  pointer to;
  {
    const std::lock_guard lock(mutex_);
    if (master < map_.masters.size())
      if (const auto found = nodes_.find(key_of(map_.masters[master])); found != nodes_.end()) to = found->second.link;
  }
  if (to) return to->send(what, inline_work::never, std::move(done));
  done(nowhere("one of its masters cannot be reached"));
}

bool cluster_courier::refused(connection& which, const refusal& what, reply_handler& done) noexcept {
  const auto code = error_code(what.error);
  if (code == "READONLY" || code == "CLUSTERDOWN") refresh_soon();
  if ((code != "MOVED" && code != "ASK") || what.hops >= most_hops) return false;
  const auto to = read_redirect(what.error, which.where());
  if (!to) return false;
  if (code == "MOVED") {
    {
      const std::lock_guard lock(mutex_);
      const auto index = map_.index_of(to->where);
      if (index == cluster_map::nobody) return false;
      map_.owner[to->slot] = index;
    }
    refresh_soon();
  }
  forward(to->where, {.bytes = std::string(what.request),
                      .called = what.called,
                      .hops = what.hops + 1,
                      .asking = code == "ASK",
                      .done = std::move(done)});
  return true;
}

void cluster_courier::forward(const endpoint& where, parked what) {
  const auto to = connect_to(where);
  bool ready = false, full = false;
  {
    const std::lock_guard lock(mutex_);
    auto& at = nodes_[key_of(where)];
    ready = at.is_up;
    full = at.waiting.size() >= most_waiting || closed_;
    if (!ready && !full) {
      at.waiting.push_back(std::move(what));
      return;
    }
  }
  if (full) return what.done(nowhere("too many requests wait for " + where.shown()));
  to->send({.bytes = what.bytes,
            .called = what.called,
            .hops = what.hops,
            .first = what.asking ? asking : std::string_view{}},
           inline_work::never, std::move(what.done));
}

server_facts cluster_courier::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

// ---- messages. A plain one reaches every node, so one node is listened to; one of a shard stays there.

cluster_courier::pointer cluster_courier::ears() {
  const std::lock_guard lock(mutex_);
  if (ears_) return {};
  for (const auto& [where, at] : nodes_)
    if (at.is_up) return ears_ = at.link;
  return {};
}

// Subscribes to what is wanted of this node. `everything`: it has just become the one that is listened to.
void cluster_courier::listen(connection& on, bool everything) {
  std::vector<std::string> channels;
  bool sharded = false;
  {
    const std::lock_guard lock(mutex_);
    channels = channels_.all();
    sharded = facts_.sharded_pubsub;
  }
  for (const auto& one : channels) {
    if (everything) on.send_for_push(packet({"SUBSCRIBE", one}), [](const result<reply>&) {});
    if (sharded && of_one_shard(one) && at_slot(slot_of(one)).get() == &on)
      on.send_for_push(packet({"SSUBSCRIBE", one}), [](const result<reply>&) {});
  }
}

void cluster_courier::subscribe(std::string_view channel, reply_handler done) {
  if (const auto fresh = ears()) listen(*fresh, true);
  pointer to;
  bool sharded = false;
  {
    const std::lock_guard lock(mutex_);
    channels_.add(channel);
    to = ears_;
    sharded = facts_.sharded_pubsub && of_one_shard(channel);
  }
  if (sharded)
    if (const auto shard = at_slot(slot_of(channel)))
      shard->send_for_push(packet({"SSUBSCRIBE", channel}), [](const result<reply>&) {});
  if (!to) return done(nowhere("no node to listen to"));
  to->send_for_push(packet({"SUBSCRIBE", channel}), std::move(done));
}

void cluster_courier::unsubscribe(std::string_view channel) {
  pointer to;
  bool sharded = false;
  {
    const std::lock_guard lock(mutex_);
    if (!channels_.remove(channel)) return;
    to = ears_;
    sharded = facts_.sharded_pubsub && of_one_shard(channel);
  }
  if (to) to->send_for_push(packet({"UNSUBSCRIBE", channel}), [](const result<reply>&) {});
  if (!sharded) return;
  if (const auto shard = at_slot(slot_of(channel)))
    shard->send_for_push(packet({"SUNSUBSCRIBE", channel}), [](const result<reply>&) {});
}

void cluster_courier::pushed(connection&, reply what) noexcept {
  const auto word = what[0].text();
  auto* const to = layout_.load();
  if (to != nullptr && what.size() == 3 && (word == "message" || word == "smessage"))
    return to->message(what[1].text(), what[2].text());
  if (word == "sunsubscribe") refresh_soon();  // its slot has gone elsewhere
}

void cluster_courier::close() noexcept {
  std::vector<pointer> all;
  std::vector<parked> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    for (auto& [where, at] : nodes_) {
      if (at.link) all.push_back(std::exchange(at.link, nullptr));
      for (auto& one : at.waiting) waiting.push_back(std::move(one));
      at.waiting.clear();
      at.is_up = false;
    }
    ears_ = nullptr;
  }
  for (const auto& one : all) one->close();
}

}  // namespace interlock::inline v1::redis_store
