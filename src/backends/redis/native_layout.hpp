// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/layout.hpp"
#include "backends/redis/native_cells.hpp"
#include "backends/redis/native_keys.hpp"

#include <atomic>
#include <string>

namespace interlock::inline v1::redis_store {

/// interlock's own layout: everything a claim can be, in one script per question. The rules are those of
/// core::claim_book, in the words of native_*.lua.
class native_layout final : public layout {
 public:
  explicit native_layout(const layout_environment& from);

  void begin() override;
  void describe(store_traits& traits) const override;
  void enter(const claim& who, entry how, inline_work here, completion<standing>&& done) override;
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    look_by(way_, whom, here, std::move(done));
  }
  void look_by(courier& way, std::span<const claim> whom, inline_work here, completion<standings> done) override;
  void leave(const claim& who, finality how, inline_work here, completion<departure>&& done) override;
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override;
  void survey(survey_query what, completion<survey_page> done) override;
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override;
  cell_store* cells() noexcept override { return &cells_; }
  [[nodiscard]] std::string route(std::string_view name) const override;
  void message(std::string_view channel, std::string_view payload) noexcept override;

 private:
  struct entering;
  struct converting;
  struct leaving;
  struct looking;
  struct gathering;
  struct gathering_part;

  [[nodiscard]] standing heard(standing as) const noexcept;
  void ask(const script& what, std::string_view name, const command_text::pieces& argument, inline_work here,
           reply_handler&& done);
  void look_by_slot(courier& way, std::span<const claim> whom, inline_work here, completion<standings> done);
  void evict_found(std::string_view name, const claim_secret& who, bool force, completion<bool> done);

  courier& way_;
  backend_events& events_;
  const claim_origin own_;     // of claims that bring none
  const std::string channel_;  // where the server tells this process of its grants
  const native::told keys_;
  const script &enter_, &leave_, &bundle_;
  native::cells cells_;
  std::atomic<bool> deaf_{false};  // not allowed to listen there
};

}  // namespace interlock::inline v1::redis_store
