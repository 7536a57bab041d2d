// SPDX-License-Identifier: MIT
#include "backends/redis/redis_store.hpp"

#include "backends/redis/cluster_courier.hpp"
#include "backends/redis/examination.hpp"
#include "backends/redis/layout.hpp"
#include "backends/redis/master_courier.hpp"
#include "backends/redis/replicated_layout.hpp"
#include "backends/redis/sentinel_locator.hpp"
#include "backends/redis/settings.hpp"

#include <future>
#include <utility>

namespace interlock::inline v1::redis_store {
namespace {

/// A courier and what it carries; with replicas to be waited for there is a second one.
struct line {
  std::shared_ptr<courier> way;
  std::unique_ptr<cautious_events> cautious;
  std::unique_ptr<silent_events> silent;
  std::shared_ptr<courier> second_way;
  std::unique_ptr<layout> written;

  void close() const noexcept {
    if (way) way->close();
    if (second_way) second_way->close();
  }
};

/// The backend: a layout, and the courier that carries what it asks.
class store final : public backend {
 public:
  store(line to, redis_settings settings, store_traits traits)
      : line_(std::move(to)), settings_(std::move(settings)), traits_(std::move(traits)) {}
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store() override { line_.close(); }

  [[nodiscard]] const store_traits& traits() const noexcept override { return traits_; }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    line_.written->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    line_.written->look(whom, here, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    line_.written->leave(who, how, here, std::move(done));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    line_.written->convert(who, mode, weight, how, std::move(done));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    line_.written->survey(std::move(what), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    line_.written->evict(name, who, force, std::move(done));
  }
  cell_store* cells() noexcept override { return line_.written->cells(); }
  void examine(completion<std::vector<store_check>> done) override {
    redis_store::examine(line_.way, settings_, std::move(done));
  }
  void flush() noexcept override {
    line_.way->flush();
    if (line_.second_way) line_.second_way->flush();
  }
  std::optional<milliseconds> fetches_answers() const noexcept override {
    return line_.second_way ? std::nullopt : line_.way->fetches_answers();
  }
  int borrow_news(awaited) noexcept override { return line_.second_way ? -1 : line_.way->borrow_news(); }
  bool read_news() noexcept override { return line_.way->read_news(); }
  arrival await_news() noexcept override { return line_.way->await_news(); }
  void return_news(loan_end as) noexcept override { line_.way->return_news(as); }
  void close() noexcept override { line_.close(); }

  /// Somebody wants more than Redis can promise: find out what is in the way here.
  void explain() {
    std::promise<result<std::vector<store_check>>> answer;
    auto checks = answer.get_future();
    examine([&](result<std::vector<store_check>> got) { answer.set_value(std::move(got)); });
    if (const auto got = checks.get(); got) {
      const auto weak = weak_points(*got);
      if (!weak.empty()) traits_.caveat += " (" + weak + ")";
    }
  }

 private:
  line line_;
  redis_settings settings_;
  store_traits traits_;
};

store_traits traits_of_redis() {
  store_traits out;
  out.guarantee = guarantee::best_effort;
  out.store = "redis";
  out.lease_min = milliseconds{10};
  out.lease_max = std::chrono::hours{24 * 30};
  out.caveat = "Redis confirms a write before it is safe on a disk or on a replica: a restart or a fail-over may "
               "forget who holds a lock";
  return out;
}

result<std::unique_ptr<layout>> make_layout(const std::string& name, const layout_environment& from) {
  if (name == "plain") return make_plain_layout(from);
  if (name == "redisson") return make_redisson_layout(from);
  return make_native_layout(from);
}

std::shared_ptr<courier> make_courier(const backend_environment& from, const redis_settings& settings) {
  if (settings.is == deployment::cluster)
    return std::make_shared<cluster_courier>(from, settings.connection, settings.endpoints);
  auto where = settings.is == deployment::sentinel
                   ? make_sentinel_locator(from, settings.endpoints, settings.master, settings.to_sentinels)
                   : std::make_unique<fixed_locator>(settings.endpoints.front());
  return std::make_shared<master_courier>(from, settings.connection, std::move(where));
}

// Opened, and with its layout.
result<std::shared_ptr<courier>> open_way(const backend_environment& from, const redis_settings& settings,
                                          backend_events& events, std::unique_ptr<layout>& written) {
  auto way = make_courier({from.url, from.options, from.time, events, from.loop}, settings);
  auto opened = way->open();
  if (opened) {
    auto made = make_layout(settings.layout, {*way, events, from.url, from.time});
    if (made)
      written = std::move(*made);
    else
      opened = made.error();
  }
  if (opened) return way;
  way->close();
  return opened.error();
}

result<line> open_line(const backend_environment& from, const redis_settings& settings) {
  line out;
  out.cautious = std::make_unique<cautious_events>(from.events);
  out.silent = std::make_unique<silent_events>();
  const bool replicated = settings.replicas > 0;
  auto way =
      open_way(from, settings, replicated ? static_cast<backend_events&>(*out.cautious) : from.events, out.written);
  if (!way) return way.error();
  out.way = std::move(*way);
  if (replicated) {
    std::unique_ptr<layout> witness;
    auto second = open_way(from, settings, *out.silent, witness);
    if (!second) {
      out.close();
      return second.error();
    }
    out.second_way = std::move(*second);
    out.second_way->deliver_to(*witness);
    out.written = make_replicated_layout(std::move(out.written), std::move(witness), *out.second_way,
                                         {settings.replicas, settings.replica_patience});
  }
  out.way->deliver_to(*out.written);
  out.written->begin();
  return out;
}

}  // namespace

result<std::unique_ptr<backend>> open_redis(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  auto to = open_line(environment, *settings);
  if (!to) return to.error();
  auto traits = traits_of_redis();
  traits.layout = settings->layout;
  to->written->describe(traits);
  auto made = std::make_unique<store>(std::move(*to), std::move(*settings), std::move(traits));
  if (environment.options.require.value_or(guarantee::best_effort) != guarantee::best_effort) made->explain();
  return std::unique_ptr<backend>(std::move(made));
}

}  // namespace interlock::inline v1::redis_store
