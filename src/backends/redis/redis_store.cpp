// SPDX-License-Identifier: MIT
#include "backends/redis/redis_store.hpp"

#include "backends/redis/layout.hpp"
#include "backends/redis/master_courier.hpp"
#include "backends/redis/settings.hpp"

#include <atomic>
#include <utility>

namespace interlock::inline v1::redis_store {
namespace {

/// The backend: a layout, and the courier that carries what it asks.
class store final : public backend {
 public:
  store(std::shared_ptr<courier> way, std::unique_ptr<layout> written, store_traits traits)
      : way_(std::move(way)), layout_(std::move(written)), traits_(std::move(traits)) {}
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store() override { close(); }

  [[nodiscard]] const store_traits& traits() const noexcept override { return traits_; }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    layout_->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    layout_->look(whom, here, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    layout_->leave(who, how, here, std::move(done));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    layout_->convert(who, mode, weight, how, std::move(done));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    layout_->survey(std::move(what), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    layout_->evict(name, who, force, std::move(done));
  }
  int borrow_news(awaited) noexcept override { return way_->borrow_news(); }
  bool read_news() noexcept override { return way_->read_news(); }
  void return_news(bool quiet) noexcept override { way_->return_news(quiet); }
  void close() noexcept override { way_->close(); }

 private:
  std::shared_ptr<courier> way_;
  std::unique_ptr<layout> layout_;
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

}  // namespace

result<std::unique_ptr<backend>> open_redis(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  if (settings->is != deployment::single)
    return failure(errc::unsupported, "redis: " + environment.url.scheme + " is not built yet");
  auto where = std::make_unique<fixed_locator>(settings->endpoints.front());
  auto way = std::make_shared<master_courier>(environment, std::move(settings->connection), std::move(where));
  if (auto opened = way->open(); !opened) {
    way->close();
    return opened.error();
  }
  auto written = make_layout(settings->layout, {*way, environment.events, environment.url, environment.time});
  if (!written) {
    way->close();
    return written.error();
  }
  way->deliver_to(**written);
  (*written)->begin();
  auto traits = traits_of_redis();
  traits.layout = settings->layout;
  (*written)->describe(traits);
  return std::unique_ptr<backend>(std::make_unique<store>(std::move(way), std::move(*written), std::move(traits)));
}

}  // namespace interlock::inline v1::redis_store
