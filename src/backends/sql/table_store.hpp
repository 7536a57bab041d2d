// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/eviction_watch.hpp"
#include "backends/sql/waiting_room.hpp"
#include "backends/sql/way.hpp"

#include <interlock/backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace interlock::inline v1::sql {

/// What a database is asked besides questions about claims, in its own words.
struct table_statements {
  std::function<std::shared_ptr<errand>(const survey_query&, completion<survey_page>)> survey{};
  std::function<std::shared_ptr<errand>(completion<std::vector<store_check>>)> examine{};
  /// The prepared statement that removes some old rows; its one field is 1 if there are more of them.
  const char* tidy = nullptr;
  /// Where the database wakes nobody: see waiting_room.
  waiting_room::question_text still_waiting{};
  /// There, too: see eviction_watch.
  std::string evictions{};
};

/// The waist, over lock tables that have our rules in procedures.
class table_store : public backend {
 public:
  table_store(std::shared_ptr<way> to, table_statements words, store_traits traits,
              const backend_environment& environment);
  ~table_store() override { table_store::close(); }

  const store_traits& traits() const noexcept override { return traits_; }
  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override;
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override;
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override;
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override;
  void survey(survey_query what, completion<survey_page> done) override;
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override;
  void examine(completion<std::vector<store_check>> done) override;

  void flush() noexcept override { way_->flush(); }
  int borrow_news(awaited) noexcept override { return way_->borrow_news(); }
  bool read_news() noexcept override { return way_->read_news(); }
  arrival await_news() noexcept override { return way_->await_news(); }
  void return_news(loan_end as) noexcept override { way_->return_news(as); }
  void close() noexcept override;

 private:
  class tidier;

  void noted(const question& asked, const standing& as);
  void stand(question asked, inline_work here, completion<standing> done);

  std::shared_ptr<way> way_;
  table_statements words_;
  store_traits traits_;
  std::shared_ptr<tidier> tidier_;
  std::shared_ptr<waiting_room> waiting_;      // where the database tells nobody; or none
  std::shared_ptr<eviction_watch> evictions_;  // likewise
};

}  // namespace interlock::inline v1::sql
