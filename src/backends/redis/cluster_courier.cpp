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
constexpr std::size_t most_nodes = 2'000;

std::pair<std::string, std::uint16_t> key_of(const endpoint& where) { return {where.host, where.port}; }

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
  pointer ears;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    auto& at = nodes_[key_of(which.where())];
    if (at.link.get() == &which) {
      at.facts = found;
      if (!found.resp3)  // not up before it can hear
        ears = at.ears = std::make_shared<connection>(which.where(), settings_, loop_, time_, *this);
    } else if (at.ears.get() != &which) {
      return;
    }
  }
  ears ? ears->open() : ready(which.where());
}

void cluster_courier::ready(const endpoint& where) noexcept {
  std::vector<parked> waiting;
  pointer link;
  bool wants_map = false, another = false, again = false;
  {
    const std::lock_guard lock(mutex_);
    auto& at = nodes_[key_of(where)];
    if (closed_ || !at.link) return;
    link = at.link;
    const auto& found = at.facts;
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
  hear();
  for (auto& one : waiting) {
    link->send(
        {.bytes = one.bytes, .called = one.called, .hops = one.hops, .first = one.asking ? asking : std::string_view{}},
        inline_work::never, std::move(one.done));
  }
  if (wants_map) ask_map(link);
  settle_opening(nullptr);
  if (another) events_.another_server();
  if (again) events_.link(true);
}

void cluster_courier::down(connection& which, const failure& why) noexcept {
  std::vector<parked> waiting;
  pointer other;
  bool was_up = false, has_slots = false, opening = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    auto& at = nodes_[key_of(which.where())];
    if (at.link.get() != &which && at.ears.get() != &which) return;
    was_up = std::exchange(at.is_up, false);
    for (auto* const one : {&at.link, &at.ears}) {
      if (!*one) continue;
      ears_.forget(**one);
      if (one->get() != &which) other = *one;
      *one = nullptr;
    }
    waiting.swap(at.waiting);
    has_slots = std::find(map_.masters.begin(), map_.masters.end(), which.where()) != map_.masters.end();
    opening = !opened_;
  }
  // One without the other is of no use.
  if (other) loop_.post([other, why] { other->fail(why); });
  for (auto& one : waiting) one.done(failure(errc::unavailable, why.message()));
  if (was_up && has_slots) events_.link(false);
  if (has_slots) connect_later(which.where());
  hear();
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

// [mutex_] nullptr: nobody, or it is not up.
const cluster_courier::node* cluster_courier::owner_of(std::uint16_t slot) const {
  const auto index = map_.owner[slot];
  if (index == cluster_map::nobody) return nullptr;
  const auto found = nodes_.find(key_of(map_.masters[index]));
  return found == nodes_.end() || !found->second.is_up ? nullptr : &found->second;
}

cluster_courier::pointer cluster_courier::at_slot(std::uint16_t slot) const {
  const std::lock_guard lock(mutex_);
  const auto* const at = owner_of(slot);
  return at == nullptr ? pointer{} : at->link;
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
      for (auto* const one : {&at.link, &at.ears}) {
        if (!*one) continue;
        ears_.forget(**one);
        over.push_back(std::exchange(*one, nullptr));
      }
      at.is_up = false;
    }
    std::erase_if(nodes_, [&](const auto& one) {
      return std::none_of(fresh.begin(), fresh.end(), [&](const endpoint& all) { return key_of(all) == one.first; }) &&
             !one.second.link && !one.second.retrying && one.second.waiting.empty();
    });
  }
  for (const auto& one : over)
    loop_.post([one] { one->fail(nowhere(one->where().shown() + " has no slots any more")); });
  for (const auto& one : fresh) connect_to(one);
  // Only behind the subscriptions: what was told before them was not heard.
  hear([this, changed] {
    if (!changed) return;
    events_.another_server();
    events_.link(true);
  });
  settle_opening(nullptr);
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
      if (index != cluster_map::nobody) map_.owner[to->slot] = index;
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
  {
    const std::lock_guard lock(mutex_);
    if (nodes_.size() >= most_nodes && !nodes_.contains(key_of(where))) what.hops = most_hops + 1;
  }
  if (what.hops > most_hops) return what.done(nowhere("it has sent us to more servers than a cluster has"));
  const auto to = connect_to(where);
  bool ready = false, full = false, gone = false;
  {
    const std::lock_guard lock(mutex_);
    auto& at = nodes_[key_of(where)];
    ready = at.is_up;
    full = at.waiting.size() >= most_waiting;
    gone = !at.link || closed_;  // it has just failed: nobody would come for what waits
    if (!ready && !full && !gone) {
      at.waiting.push_back(std::move(what));
      return;
    }
  }
  if (gone || !to) return what.done(nowhere(where.shown() + ": not connected"));
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

void cluster_courier::close() noexcept {
  std::vector<pointer> all;
  std::vector<parked> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(closed_, true)) return;
    for (auto& [where, at] : nodes_) {
      if (at.link) all.push_back(std::exchange(at.link, nullptr));
      if (at.ears) all.push_back(std::exchange(at.ears, nullptr));
      for (auto& one : at.waiting) waiting.push_back(std::move(one));
      at.waiting.clear();
      at.is_up = false;
    }
    for (const auto& one : all) ears_.forget(*one);
  }
  for (const auto& one : all) one->close();
}

}  // namespace interlock::inline v1::redis_store
