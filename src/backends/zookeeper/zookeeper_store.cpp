// SPDX-License-Identifier: MIT
#include "backends/zookeeper/zookeeper_store.hpp"

#include "backends/zookeeper/claims.hpp"

#include "net/loan.hpp"

#include <atomic>
#include <utility>

namespace interlock::inline v1::zookeeper_store {
namespace {

/// The backend: claims, and the lending of their connection.
class store final : public backend {
 public:
  store(std::shared_ptr<claims> with, store_traits traits) : claims_(std::move(with)), traits_(std::move(traits)) {}
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store() override { claims_->close(); }

  [[nodiscard]] const store_traits& traits() const noexcept override { return traits_; }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    claims_->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    claims_->look(whom, here, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    claims_->leave(who, how, here, std::move(done));
  }
  void convert(const claim&, lock_mode, std::uint32_t, entry, completion<standing> done) override {
    done(failure(errc::unsupported, "zookeeper: a held lock cannot be converted"));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    claims_->survey(std::move(what), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    claims_->evict(name, who, force, std::move(done));
  }
  void examine(completion<std::vector<store_check>> done) override { claims_->examine(std::move(done)); }
  void flush() noexcept override { claims_->flush(); }

  int borrow_news(awaited) noexcept override {
    return loan_.begin([this] { return claims_->only_link(); });
  }
  bool read_news() noexcept override { return loan_->read_borrowed(); }
  arrival await_news() noexcept override { return loan_->await_borrowed(); }
  void return_news(loan_end as) noexcept override { loan_.end(as); }
  void close() noexcept override { claims_->close(); }

 private:
  const std::shared_ptr<claims> claims_;
  const store_traits traits_;
  net::loan<link> loan_;
};

store_traits traits_of(const zookeeper_settings& settings, milliseconds longest_lease) {
  store_traits out;
  out.guarantee = guarantee::strict;
  out.store = "zookeeper";
  out.layout = settings.how->curator ? "curator " + std::string(settings.how->name) : "kazoo";
  out.fifo = out.push = out.survey = out.tokens = true;
  out.shared = !settings.how->reader.empty();
  out.permits = settings.how->curator;
  out.tick = claims::margin;
  out.lease_min = milliseconds{100};
  out.lease_max = longest_lease;
  return out;
}

}  // namespace

result<std::unique_ptr<backend>> open_zookeeper(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  auto made = std::make_shared<claims>(environment, *settings);
  if (auto opened = made->open(); !opened) {
    made->close();
    return opened.error();
  }
  auto traits = traits_of(*settings, made->longest_lease());
  return std::unique_ptr<backend>(std::make_unique<store>(std::move(made), std::move(traits)));
}

}  // namespace interlock::inline v1::zookeeper_store
