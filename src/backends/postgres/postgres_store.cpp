// SPDX-License-Identifier: MIT
#include "backends/postgres/postgres_store.hpp"

#include "backends/postgres/examination.hpp"
#include "backends/postgres/news.hpp"
#include "backends/postgres/survey.hpp"
#include "backends/postgres/way.hpp"
#include "core/origin.hpp"
#include "core/random.hpp"

#include <utility>

namespace interlock::inline v1::postgres_store {
namespace {

constexpr std::chrono::minutes between_tidyings{10};
constexpr milliseconds first_tidying{2'000};

template <class Then>
std::shared_ptr<errand> one_question(sql::question asked, Then then) {
  return std::make_shared<errand>(
      std::vector{asked},
      [then = std::move(then)](std::span<const result<sql::reply>> got) mutable { then(got.front()); });
}

class store final : public backend {
 public:
  store(std::shared_ptr<way> to, object_names names, store_traits traits, reactor& loop, const time_source& time)
      : way_(std::move(to)),
        names_(std::move(names)),
        traits_(std::move(traits)),
        tidier_(std::make_shared<tidier>(way_, loop, time)) {
    tidier_->later(first_tidying);
  }
  ~store() override { way_->close(); }

  const store_traits& traits() const noexcept override { return traits_; }

  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    stand(sql::to_enter(who, how), here, std::move(done));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    std::vector<sql::question> asked;
    asked.reserve(whom.size());
    for (const auto& one : whom) asked.push_back(sql::to_look(one));
    if (asked.empty()) return done(standings{});
    auto all = std::make_shared<errand>(std::move(asked), errand::replies_handler{});
    all->replied = [asked = &all->questions, done = std::move(done)](std::span<const result<sql::reply>> got) mutable {
      standings out;
      out.reserve(got.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        out.push_back(got[i] ? sql::standing_of((*asked)[i], *got[i]) : result<standing>(got[i].error()));
      done(std::move(out));
    };
    way_->send(all, here);
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    way_->send(one_question(sql::to_leave(who, how),
                            [done = std::move(done)](const result<sql::reply>& got) mutable {
                              if (!got) return done(got.error());
                              done(sql::departure_of(*got));
                            }),
               here);
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    stand(sql::to_convert(who, mode, weight, how), inline_work::if_brief, std::move(done));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    way_->send(survey_errand(what, std::move(done)), inline_work::never);
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    const auto kept = std::make_shared<std::string>(name);  // the view is not said to live on
    way_->send(one_question(sql::to_evict(*kept, who, force),
                            [kept, done = std::move(done)](const result<sql::reply>& got) mutable {
                              if (!got) return done(got.error());
                              done(got->is == sql::reply::word::yes);
                            }),
               inline_work::never);
  }

  void examine(completion<std::vector<store_check>> done) override {
    way_->send(examination_errand(names_, std::move(done)), inline_work::never);
  }

  void flush() noexcept override { way_->flush(); }
  int borrow_news(awaited) noexcept override { return way_->borrow_news(); }
  bool read_news() noexcept override { return way_->read_news(); }
  arrival await_news() noexcept override { return way_->await_news(); }
  void return_news(loan_end as) noexcept override { way_->return_news(as); }
  void close() noexcept override { way_->close(); }

 private:
  void stand(sql::question asked, inline_work here, completion<standing> done) {
    way_->send(one_question(asked,
                            [asked, done = std::move(done)](const result<sql::reply>& got) mutable {
                              if (!got) return done(got.error());
                              done(sql::standing_of(asked, *got));
                            }),
               here);
  }

  /// Has old rows removed from time to time, by whoever is connected.
  struct tidier : std::enable_shared_from_this<tidier> {
    tidier(const std::shared_ptr<way>& over, reactor& on, const time_source& by) : to(over), loop(on), time(by) {}
    void later(milliseconds pause) {
      loop.call_at(time.now() + pause, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tidy();
      });
    }
    void tidy() {
      const auto over = to.lock();
      if (!over) return;
      over->send(std::make_shared<errand>(tidy_statement, std::vector<std::string>{},
                                          [self = shared_from_this()](const result<const PGresult*>& got) {
                                            const bool more = got && binary_boolean(*got, 0, 0);
                                            self->later(more ? first_tidying : between_tidyings);
                                          }),
                 inline_work::never);
    }
    std::weak_ptr<way> to;
    reactor& loop;
    const time_source& time;
  };

  std::shared_ptr<way> way_;
  object_names names_;
  store_traits traits_;
  std::shared_ptr<tidier> tidier_;
};

store_traits traits_of_postgres(const server_facts& found, bool listens) {
  store_traits out;
  out.caveat = weak_points(found);
  out.guarantee = out.caveat.empty() ? guarantee::strict : guarantee::best_effort;
  out.convert = out.fifo = out.permits = out.shared = out.survey = out.tokens = true;
  out.push = listens;
  out.store = "postgres";
  out.layout = "table";
  out.lease_min = milliseconds{10};
  out.lease_max = std::chrono::hours{24 * 30};
  return out;
}

}  // namespace

result<std::string> schema_for(const store_url& url) {
  const auto names = read_names(url);
  if (!names) return names.error();
  return schema_text(*names);
}

result<std::unique_ptr<backend>> open_postgres(const backend_environment& environment) {
  auto settings = read_settings(environment);
  if (!settings) return settings.error();
  const bool listens = settings->listens;
  const auto names = settings->names;
  // Known to the server alone: whoever could guess it could wake us for nothing.
  const auto channel = listens ? "interlock_" + to_string(public_id(core::kernel_random().secret())) : std::string{};
  auto to = std::make_shared<way>(environment, std::move(*settings), channel, write_origin(core::own_origin({})),
                                  [&events = environment.events](std::string_view text) { deliver(text, events); });
  if (auto opened = to->open(); !opened) {
    to->close();
    return opened.error();
  }
  auto traits = traits_of_postgres(to->facts(), listens);
  if (traits.guarantee == guarantee::strict) to->insist_on_strict();
  return std::unique_ptr<backend>(
      std::make_unique<store>(std::move(to), names, std::move(traits), environment.loop, environment.time));
}

}  // namespace interlock::inline v1::postgres_store
