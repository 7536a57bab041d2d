// SPDX-License-Identifier: MIT
#include "backends/sql/table_store.hpp"

#include <chrono>
#include <utility>

namespace interlock::inline v1::sql {
namespace {

constexpr std::chrono::minutes between_tidyings{10};
constexpr milliseconds first_tidying{2'000};

template <class Then>
std::shared_ptr<errand> one_question(question asked, Then then) {
  return std::make_shared<errand>(
      std::vector{asked}, [then = std::move(then)](std::span<const result<reply>> got) mutable { then(got.front()); });
}

}  // namespace

/// Has old rows removed from time to time, by whoever is connected.
class table_store::tidier : public std::enable_shared_from_this<tidier> {
 public:
  tidier(const std::shared_ptr<way>& over, const char* statement, reactor& on, const time_source& by)
      : to_(over), statement_(statement), loop_(on), time_(by) {}
  void later(milliseconds pause) {
    loop_.call_at(time_.now() + pause, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tidy();
    });
  }

 private:
  void tidy() {
    const auto over = to_.lock();
    if (!over) return;
    over->send(std::make_shared<errand>(statement_, std::vector<std::string>{},
                                        [self = shared_from_this()](const result<const rows*>& got) {
                                          const bool more = got && (*got)->size() == 1 && (*got)->field(0, 0) == "1";
                                          self->later(more ? first_tidying : between_tidyings);
                                        }),
               inline_work::never);
  }

  std::weak_ptr<way> to_;
  const char* statement_;
  reactor& loop_;
  const time_source& time_;
};

table_store::table_store(std::shared_ptr<way> to, table_statements words, store_traits traits,
                         const backend_environment& environment)
    : way_(std::move(to)),
      words_(std::move(words)),
      traits_(std::move(traits)),
      tidier_(std::make_shared<tidier>(way_, words_.tidy, environment.loop, environment.time)) {
  if (words_.still_waiting)
    waiting_ = std::make_shared<waiting_room>(way_, words_.still_waiting, environment.events, environment.loop,
                                              environment.time);
  if (!words_.evictions.empty())
    evictions_ = std::make_shared<eviction_watch>(way_, words_.evictions, environment.events, environment.loop,
                                                  environment.time);
  tidier_->later(first_tidying);
}

void table_store::noted(const question& asked, const standing& as) {
  if (waiting_) waiting_->noted(asked, as);
  if (evictions_) evictions_->noted(asked.about.secret, as);
}

void table_store::close() noexcept {
  way_->close();
  if (waiting_) waiting_->close();
  if (evictions_) evictions_->close();
}

void table_store::stand(question asked, inline_work here, completion<standing> done) {
  way_->send(one_question(asked,
                          [this, asked, done = std::move(done)](const result<reply>& got) mutable {
                            if (!got) return done(got.error());
                            auto as = standing_of(asked, *got);
                            if (as) noted(asked, *as);
                            done(std::move(as));
                          }),
             here);
}

void table_store::enter(const claim& who, entry how, inline_work here, completion<standing> done) {
  stand(to_enter(who, how), here, std::move(done));
}

void table_store::look(std::span<const claim> whom, inline_work here, completion<standings> done) {
  std::vector<question> asked;
  asked.reserve(whom.size());
  for (const auto& one : whom) asked.push_back(to_look(one));
  if (asked.empty()) return done(standings{});
  auto all = std::make_shared<errand>(std::move(asked), errand::replies_handler{});
  all->replied = [this, asked = &all->questions, done = std::move(done)](std::span<const result<reply>> got) mutable {
    standings out;
    out.reserve(got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      out.push_back(got[i] ? standing_of((*asked)[i], *got[i]) : result<standing>(got[i].error()));
      if (out.back()) noted((*asked)[i], *out.back());
    }
    done(std::move(out));
  };
  way_->send(all, here);
}

void table_store::leave(const claim& who, finality how, inline_work here, completion<departure> done) {
  if (waiting_) waiting_->forget(who.secret);
  if (evictions_) evictions_->forget(who.secret);
  way_->send(one_question(to_leave(who, how),
                          [done = std::move(done)](const result<reply>& got) mutable {
                            if (!got) return done(got.error());
                            done(departure_of(*got));
                          }),
             here);
}

void table_store::convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how,
                          completion<standing> done) {
  stand(to_convert(who, mode, weight, how), inline_work::if_brief, std::move(done));
}

void table_store::survey(survey_query what, completion<survey_page> done) {
  way_->send(words_.survey(what, std::move(done)), inline_work::never);
}

void table_store::evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) {
  const auto kept = std::make_shared<std::string>(name);  // the view is not said to live on
  way_->send(one_question(to_evict(*kept, who, force),
                          [kept, done = std::move(done)](const result<reply>& got) mutable {
                            if (!got) return done(got.error());
                            done(got->is == reply::word::yes);
                          }),
             inline_work::never);
}

void table_store::examine(completion<std::vector<store_check>> done) {
  way_->send(words_.examine(std::move(done)), inline_work::never);
}

}  // namespace interlock::inline v1::sql
