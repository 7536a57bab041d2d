// SPDX-License-Identifier: MIT
#include "backends/zookeeper/zookeeper_store.hpp"

#include "backends/zookeeper/claims.hpp"

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
  void flush() noexcept override { claims_->flush(); }

  int borrow_news(awaited) noexcept override {
    if (is_lent_.exchange(true, std::memory_order_acquire)) return -1;
    lent_ = claims_->only_link();
    const int fd = lent_ ? lent_->borrow() : -1;
    if (fd < 0) end_loan();
    return fd;
  }
  bool read_news() noexcept override { return lent_->read_borrowed(); }
  arrival await_news() noexcept override { return lent_->await_borrowed(); }
  void return_news(loan_end as) noexcept override {
    lent_->give_back(as);
    end_loan();
  }
  void close() noexcept override { claims_->close(); }

 private:
  void end_loan() noexcept {
    lent_ = nullptr;
    is_lent_.store(false, std::memory_order_release);
  }

  const std::shared_ptr<claims> claims_;
  const store_traits traits_;
  std::atomic<bool> is_lent_{false};
  std::shared_ptr<link> lent_;  // the borrower's, while there is one
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
