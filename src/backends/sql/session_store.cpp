// SPDX-License-Identifier: MIT
#include "backends/sql/session_store.hpp"

#include <utility>

namespace interlock::inline v1::sql {
namespace {

class session_store final : public backend {
 public:
  session_store(std::shared_ptr<way> to, std::shared_ptr<session_locks> with, store_traits traits)
      : way_(std::move(to)), locks_(std::move(with)), traits_(std::move(traits)) {}
  ~session_store() override { way_->close(); }

  const store_traits& traits() const noexcept override { return traits_; }

  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    locks_->enter(who, how, here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    locks_->look(whom, here, std::move(done));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    locks_->leave(who, how, here, std::move(done));
  }
  void convert(const claim&, lock_mode, std::uint32_t, entry, completion<standing> done) override {
    done(failure(errc::unsupported, "locks of a session are not converted"));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    if (!what.exact)
      return done(
          failure(errc::unsupported, "the server knows no names of locks that belong to sessions, only their keys"));
    locks_->show(what.prefix, std::move(done));
  }
  void evict(std::string_view, const claim_id&, bool, completion<bool> done) override {
    done(failure(errc::unsupported, "a lock of a session ends with it: have the server end that session"));
  }
  void examine(completion<std::vector<store_check>> done) override { locks_->examine(std::move(done)); }

  void flush() noexcept override { way_->flush(); }
  int borrow_news(awaited) noexcept override { return way_->borrow_news(); }
  bool read_news() noexcept override { return way_->read_news(); }
  arrival await_news() noexcept override { return way_->await_news(); }
  void return_news(loan_end as) noexcept override { way_->return_news(as); }
  void close() noexcept override { way_->close(); }

 private:
  std::shared_ptr<way> way_;
  std::shared_ptr<session_locks> locks_;
  store_traits traits_;
};

}  // namespace

result<std::unique_ptr<backend>> open_sessions(const backend_environment& environment, const place& at,
                                               std::shared_ptr<dialler> by, std::unique_ptr<session_words> words,
                                               store_traits traits) {
  traits.guarantee = guarantee::best_effort;
  traits.layout = "session";
  traits.caveat = session_caveat;
  traits.lease_min = milliseconds{10};
  auto locks = std::make_shared<session_locks>(std::move(words), environment);
  const auto ended = [weak = std::weak_ptr(locks)] {
    if (const auto still = weak.lock()) still->session_ended();
  };
  auto to = std::make_shared<way>(environment, at, std::move(by), listener{.ended = ended});
  locks->use(to);
  if (auto opened = to->open(); !opened) {
    to->close();
    return opened.error();
  }
  return std::unique_ptr<backend>(std::make_unique<session_store>(std::move(to), std::move(locks), std::move(traits)));
}

}  // namespace interlock::inline v1::sql
