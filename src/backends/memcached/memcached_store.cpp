// SPDX-License-Identifier: MIT
#include "backends/memcached/memcached_store.hpp"

#include "backends/memcached/locks.hpp"
#include "core/origin.hpp"

#include <atomic>
#include <utility>

namespace interlock::inline v1::memcached_store {
namespace {

using verdict = store_check::verdict;

constexpr auto why_best_effort =
    "Memcached keeps nothing: a restart forgets every lock, and a full memory throws some out";

std::vector<store_check> examined(const way::facts& found) {
  const auto of = [&](std::string_view name) {
    const auto at = found.find(name);
    return at == found.end() ? std::string("?") : at->second;
  };
  std::vector<store_check> out;
  out.push_back({verdict::ok, "server", "memcached " + of("version") + ", up for " + of("uptime") + " s", {}});
  out.push_back({verdict::warn, "durability", why_best_effort,
                 "for locks that must hold, another store: nothing can be set up here that changes this"});
  const auto evictions = of("evictions");
  if (evictions == "0")
    out.push_back(
        {verdict::ok, "eviction", "none so far, of " + of("limit_maxbytes") + " bytes " + of("bytes") + " used", {}});
  else
    out.push_back({verdict::warn, "eviction",
                   evictions + " items were thrown out of a full memory; locks are items too",
                   "a Memcached of its own for locks, or more memory (-m)"});
  return out;
}

class store final : public backend {
 public:
  store(std::shared_ptr<way> to, std::shared_ptr<locks> with, store_traits traits)
      : way_(std::move(to)), locks_(std::move(with)), traits_(std::move(traits)) {}
  ~store() override { way_->close(); }

  const store_traits& traits() const noexcept override { return traits_; }

  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    locks_->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    struct round {
      standings answers;
      std::atomic<std::size_t> open;
      completion<standings> done;
    };
    if (whom.empty()) return done(standings{});
    const auto all = std::make_shared<round>();
    all->answers.assign(whom.size(), failure(errc::internal));
    all->open = whom.size();
    all->done = std::move(done);
    for (std::size_t i = 0; i < whom.size(); ++i) {
      const bool last = i + 1 == whom.size();
      locks_->look(whom[i], last || whom.size() == 1 ? here : inline_work::together, [all, i](result<standing> got) {
        all->answers[i] = std::move(got);
        if (--all->open == 0) all->done(std::move(all->answers));
      });
    }
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    locks_->leave(who, how, here, std::move(done));
  }
  void convert(const claim&, lock_mode, std::uint32_t, entry, completion<standing> done) override {
    done(failure(errc::unsupported, "memcached has exclusive locks only"));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    if (!what.exact) return done(failure(errc::unsupported, "memcached cannot list its items"));
    locks_->show(what.prefix, std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    locks_->evict(std::string(name), who, force, std::move(done));
  }
  void examine(completion<std::vector<store_check>> done) override { done(examined(way_->stats())); }

  void flush() noexcept override { way_->flush(); }
  int borrow_news(awaited) noexcept override { return way_->borrow_news(); }
  bool read_news() noexcept override { return way_->read_news(); }
  arrival await_news() noexcept override { return way_->await_news(); }
  void return_news(loan_end as) noexcept override { way_->return_news(as); }
  void close() noexcept override { way_->close(); }

 private:
  std::shared_ptr<way> way_;
  std::shared_ptr<locks> locks_;
  store_traits traits_;
};

}  // namespace

result<std::unique_ptr<backend>> open_memcached(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  const layout as(settings->tooz);
  auto to = std::make_shared<way>(environment, std::move(*settings));
  if (auto opened = to->open(); !opened) {
    to->close();
    return opened.error();
  }
  store_traits traits;
  traits.guarantee = guarantee::best_effort;
  traits.tokens = !as.is_bare();
  traits.store = "memcached";
  traits.layout = as.is_bare() ? "tooz" : "item";
  traits.caveat = why_best_effort;
  traits.tick = milliseconds{2'000};
  traits.lease_min = milliseconds{1'000};
  traits.lease_max = std::chrono::hours{24 * 29};  // beyond 30 days Memcached takes seconds for a date
  auto with = std::make_shared<locks>(to, as, environment.time, core::own_origin({}));
  return std::unique_ptr<backend>(std::make_unique<store>(std::move(to), std::move(with), std::move(traits)));
}

}  // namespace interlock::inline v1::memcached_store
