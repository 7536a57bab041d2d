// SPDX-License-Identifier: MIT
#include <interlock/testing/sandbox.hpp>

#include "backends/memory/memory_store.hpp"
#include "engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace interlock::inline v1::testing {
namespace {

class hand_clock final : public time_source {
 public:
  [[nodiscard]] instant now() const noexcept override { return instant(boot_clock::duration(ns_.load())); }
  void set(instant when) noexcept { ns_ = when.time_since_epoch().count(); }

 private:
  std::atomic<std::int64_t> ns_{std::chrono::nanoseconds(std::chrono::hours{1}).count()};
};

/// A loop without a thread: the sandbox turns it.
class hand_loop final : public runtime::loop {
 public:
  void start(std::function<void()> tick, std::function<void()>) override { tick_ = std::move(tick); }
  void wake_at(instant) noexcept override {}
  void stop() noexcept override { stopped_ = true; }
  void post(unique_function<void()> work) override {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  void call_at(instant when, unique_function<void()> work) override {
    const std::lock_guard lock(mutex_);
    later_.emplace(when, std::move(work));
  }
  subscription when_readable(int, std::function<void()>) override { return {}; }

  [[nodiscard]] instant next_due() {
    const std::lock_guard lock(mutex_);
    return later_.empty() ? instant::max() : later_.begin()->first;
  }
  void turn(instant until) {
    for (;;) {
      std::vector<unique_function<void()>> now;
      {
        const std::lock_guard lock(mutex_);
        now.swap(work_);
        for (auto one = later_.begin(); one != later_.end() && one->first <= until; one = later_.erase(one))
          now.push_back(std::move(one->second));
      }
      if (now.empty()) break;
      for (auto& one : now) one();
    }
    if (!stopped_) tick_();
  }

 private:
  std::function<void()> tick_;
  std::mutex mutex_;
  std::vector<unique_function<void()>> work_;
  std::multimap<instant, unique_function<void()>> later_;
  std::atomic<bool> stopped_{false};
};

/// The way from one client to the store: requests and news vanish while it is cut.
struct wire final : backend_events {
  explicit wire(backend_events& engine) noexcept : to(engine) {}
  backend_events& to;
  std::atomic<bool> cut{false};
  void granted(const claim_secret& who, const standing& as) noexcept override {
    if (!cut) to.granted(who, as);
  }
  void look_again(const claim_secret& who) noexcept override {
    if (!cut) to.look_again(who);
  }
  void evicted(const claim_secret& who) noexcept override {
    if (!cut) to.evicted(who);
  }
  void link(bool up) noexcept override { to.link(up); }
  void another_server() noexcept override { to.another_server(); }
};

class wired_backend final : public backend {
 public:
  wired_backend(std::shared_ptr<wire> way, std::unique_ptr<backend> store)
      : way_(std::move(way)), store_(std::move(store)) {}
  [[nodiscard]] const store_traits& traits() const noexcept override { return store_->traits(); }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    if (!lost(done)) store_->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    if (!lost(done)) store_->look(whom, here, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    if (!lost(done)) store_->leave(who, how, here, std::move(done));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    if (!lost(done)) store_->convert(who, mode, weight, how, std::move(done));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    if (way_->cut) return done(failure(errc::unavailable, "the link is cut"));
    store_->survey(std::move(what), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    if (way_->cut) return done(failure(errc::unavailable, "the link is cut"));
    store_->evict(name, who, force, std::move(done));
  }
  cell_store* cells() noexcept override { return &cells_; }
  void close() noexcept override {
    store_->close();
    kept_.clear();
  }

 private:
  /// The store's cells, over the same wire.
  class wired_cells final : public cell_store {
   public:
    explicit wired_cells(wired_backend& of) noexcept : of_(of) {}
    [[nodiscard]] const cell_limits& limits() const noexcept override { return of_.store_->cells()->limits(); }
    void read(std::string_view name, completion<cell> done) override {
      if (!of_.lost(done)) of_.store_->cells()->read(name, std::move(done));
    }
    void write_if(const cell_write& what, completion<version> done) override {
      if (!of_.lost(done)) of_.store_->cells()->write_if(what, std::move(done));
    }
    [[nodiscard]] subscription watch(std::string_view name, std::function<void()> changed) override {
      return of_.store_->cells()->watch(name, [way = of_.way_, changed = std::move(changed)] {
        if (!way->cut) changed();
      });
    }

   private:
    wired_backend& of_;
  };
  friend class wired_cells;

  // A question without an answer: it is kept, because a store that drops it would be telling something.
  template <class T>
  bool lost(completion<T>& done) {
    if (!way_->cut) return false;
    const std::lock_guard lock(mutex_);
    kept_.push_back([done = std::move(done)]() mutable { done = {}; });
    return true;
  }
  std::shared_ptr<wire> way_;
  std::unique_ptr<backend> store_;
  std::mutex mutex_;
  std::vector<unique_function<void()>> kept_;
  wired_cells cells_{*this};
};

}  // namespace

struct sandbox::state {
  struct member {
    std::weak_ptr<detail::client_handle> client;
    hand_loop* loop;
    std::shared_ptr<wire> way;
  };
  hand_clock clock;
  std::shared_ptr<memory_store::books> books = std::make_shared<memory_store::books>(clock);
  std::mutex mutex;
  std::vector<member> members;

  // Those still there, kept alive while they are turned.
  std::vector<std::pair<std::shared_ptr<detail::client_handle>, member>> live() {
    const std::lock_guard lock(mutex);
    std::vector<std::pair<std::shared_ptr<detail::client_handle>, member>> out;
    for (const auto& one : members)
      if (auto client = one.client.lock()) out.emplace_back(std::move(client), one);
    return out;
  }
  member& of(const client& which) {
    const std::lock_guard lock(mutex);
    for (auto& one : members)
      if (one.client.lock() == detail::client_handle::of(which)) return one;
    throw lock_error(failure(errc::invalid_argument, "that client is not of this sandbox"));
  }
};

sandbox::sandbox() : state_(std::make_shared<state>()) {}
sandbox::~sandbox() = default;

client sandbox::connect(client_options options) {
  auto loop = std::make_unique<hand_loop>();
  auto* turned = loop.get();
  std::shared_ptr<wire> way;
  runtime::foundation base;
  base.time = &state_->clock;
  base.loop = std::move(loop);
  base.connect = [&way, sandbox = state_](const backend_environment& environment) -> result<std::unique_ptr<backend>> {
    way = std::make_shared<wire>(environment.events);
    auto store = memory_store::open_memory(
        sandbox->books, {environment.url, environment.options, environment.time, *way, environment.loop});
    return std::unique_ptr<backend>(std::make_unique<wired_backend>(way, std::move(store)));
  };
  auto engine = runtime::engine::open("memory:", std::move(options), std::move(base));
  if (!engine) throw lock_error(engine.error());
  // The clock and the books live as long as anything that reads them.
  auto kept = std::shared_ptr<runtime::engine>(engine->get(),
                                               [engine = *engine, sandbox = state_](auto*) mutable { engine.reset(); });
  auto handle = std::make_shared<detail::client_handle>(std::move(kept));
  const std::lock_guard lock(state_->mutex);
  std::erase_if(state_->members, [](const state::member& one) { return one.client.expired(); });
  state_->members.push_back({handle, turned, way});
  return detail::client_handle::make_client(std::move(handle));
}

void sandbox::advance(milliseconds by) {
  const auto target = state_->clock.now() + by;
  for (;;) {
    const auto live = state_->live();
    auto next = target;
    for (const auto& [client, one] : live)
      next = std::min(next, std::max(std::min(client->engine().next_due(), one.loop->next_due()), state_->clock.now()));
    state_->clock.set(next);
    bool due = false;
    for (const auto& [client, one] : live) {
      one.loop->turn(state_->clock.now());
      client->engine().calls()->drain();
      due = due || std::min(client->engine().next_due(), one.loop->next_due()) <= state_->clock.now();
    }
    if (next == target && !due) break;
  }
}

void sandbox::cut(const client& which) { state_->of(which).way->cut = true; }

void sandbox::heal(const client& which) { state_->of(which).way->cut = false; }

void sandbox::break_lock(std::string_view name) { state_->books->remove_holders(name); }

}  // namespace interlock::inline v1::testing
