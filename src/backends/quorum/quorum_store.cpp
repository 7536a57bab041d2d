// SPDX-License-Identifier: MIT
#include "backends/quorum/quorum_store.hpp"

#include "backends/quorum/onlooking.hpp"
#include "backends/quorum/quorum.hpp"
#include "backends/quorum/quorum_claim.hpp"
#include "backends/quorum/renewal.hpp"

#include <utility>

namespace interlock::inline v1::quorum_store {
namespace {

class store final : public backend {
 public:
  store(std::shared_ptr<quorum> of, store_traits traits) : quorum_(std::move(of)), traits_(std::move(traits)) {}
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store() override { quorum_->close(); }

  [[nodiscard]] const store_traits& traits() const noexcept override { return traits_; }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    quorum_->find_or_make(who)->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    quorum_store::look(quorum_, whom, here, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    quorum_->find_or_make(who)->leave(who, how, here, std::move(done));
  }
  void convert(const claim&, lock_mode, std::uint32_t, entry, completion<standing> done) override {
    done(failure(errc::unsupported, "redlock: a held lock cannot be converted on several nodes at once"));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    quorum_store::survey(quorum_, std::move(what), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    quorum_store::evict(quorum_, name, who, force, std::move(done));
  }
  void flush() noexcept override { quorum_->flush(); }
  int borrow_news(awaited) noexcept override { return quorum_->loan().borrow(); }
  bool read_news() noexcept override { return quorum_->loan().read(); }
  arrival await_news() noexcept override { return quorum_->loan().await(); }
  void return_news(loan_end as) noexcept override { quorum_->loan().give_back(as); }
  void examine(completion<std::vector<store_check>> done) override { quorum_store::examine(quorum_, std::move(done)); }
  void close() noexcept override { quorum_->close(); }

 private:
  std::shared_ptr<quorum> quorum_;
  store_traits traits_;
};

store_traits traits_of(quorum& of) {
  const auto& rules = of.rules();
  store_traits out;
  out.guarantee = guarantee::best_effort;
  out.store = "redlock";
  out.lease_min = milliseconds{10};
  out.lease_max = std::chrono::hours{24 * 30};
  of.at(0).locks().describe(out);
  out.convert = out.fifo = out.cells = out.latches = false;  // a majority says who holds, not what a value is
  out.push = true;
  out.tokens = rules.tokens;
  out.caveat = std::to_string(rules.needed) + " of " + std::to_string(rules.nodes) +
               " Redis servers agree, but a server whose clock is set, or that restarts without what it had confirmed, "
               "may let a second holder in" +
               (rules.tokens ? "; tokens order the holders that use interlock, not other libraries'"
                             : "; token=none: a holder that stalls past its lease can be stopped by nobody");
  return out;
}

}  // namespace

result<std::unique_ptr<backend>> open_quorum(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  auto all = std::make_shared<quorum>(environment, std::move(*settings));
  if (auto opened = all->open(environment); !opened) {
    all->close();
    return opened.error();
  }
  auto traits = traits_of(*all);
  return std::unique_ptr<backend>(std::make_unique<store>(std::move(all), std::move(traits)));
}

}  // namespace interlock::inline v1::quorum_store
