// SPDX-License-Identifier: MIT
#include "backends/etcd/etcd_store.hpp"

#include "backends/etcd/desk.hpp"
#include "backends/etcd/examination.hpp"

#include <future>
#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

store_traits traits_of_etcd() {
  store_traits out;
  out.guarantee = guarantee::strict;
  out.convert = out.fifo = out.permits = out.push = out.shared = out.survey = out.tokens = true;
  out.store = "etcd";
  out.layout = "concurrency";
  out.tick = milliseconds{2'000};
  out.lease_min = milliseconds{200};
  out.lease_max = std::chrono::hours{24 * 30};
  return out;
}

/// The backend: a desk, and the link it works through.
class store final : public backend {
 public:
  store(std::shared_ptr<link> along, std::shared_ptr<desk> at, etcd_settings settings)
      : link_(std::move(along)), desk_(std::move(at)), settings_(std::move(settings)), traits_(traits_of_etcd()) {}
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store() override { desk_->close(); }

  [[nodiscard]] const store_traits& traits() const noexcept override { return traits_; }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    desk_->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work, completion<standings> done) override {
    desk_->look(whom, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    desk_->leave(who, how, here, std::move(done));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    desk_->convert(who, mode, weight, how, std::move(done));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    desk_->survey(std::move(what), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    desk_->evict(name, who, force, std::move(done));
  }
  void examine(completion<std::vector<store_check>> done) override {
    etcd_store::examine(link_, settings_, std::move(done));
  }
  void flush() noexcept override { desk_->flush(); }

  int borrow_news(awaited) noexcept override {
    const int fd = link_->borrow();
    if (fd >= 0) flush();
    return fd;
  }
  bool read_news() noexcept override { return link_->read(); }
  arrival await_news() noexcept override { return link_->await(); }
  void return_news(loan_end as) noexcept override { link_->give_back(as); }
  void close() noexcept override { desk_->close(); }

 private:
  std::shared_ptr<link> link_;
  std::shared_ptr<desk> desk_;
  etcd_settings settings_;
  store_traits traits_;
};

// A read that needs a majority, and our rights: whoever cannot have that here learns it now.
result<void> try_out(link& along, const keyring& keys) {
  auto answer = std::make_shared<std::promise<result<outcome>>>();
  auto got = answer->get_future();
  along.commit({{}, {count(keys.claims("%"))}, {}},
               [answer](result<outcome> said) { answer->set_value(std::move(said)); });
  const auto said = got.get();  // every call is answered, within the time-out
  if (said) return {};
  if (said.error() != errc::indeterminate) return said.error();
  return failure(errc::unavailable, said.error().message());
}

}  // namespace

result<std::unique_ptr<backend>> open_etcd(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  auto along = link::make(*settings, environment.loop, environment.time);
  const keyring keys(settings->prefix, settings->keep_slashes);
  result<void> there = failure(errc::unavailable);
  for (std::size_t i = 0; i < settings->endpoints.size() && !there && there.error() == errc::unavailable; ++i) {
    if (i > 0) along->other_way();
    there = try_out(*along, keys);
  }
  if (!there) {
    along->close();
    return there.error();
  }
  auto at = std::make_shared<desk>(along, keys, environment.events, environment.loop, environment.time);
  at->begin(settings->connect_timeout);
  return std::unique_ptr<backend>(std::make_unique<store>(std::move(along), std::move(at), std::move(*settings)));
}

}  // namespace interlock::inline v1::etcd_store
