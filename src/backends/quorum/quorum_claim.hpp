// SPDX-License-Identifier: MIT
#pragma once

#include "backends/quorum/quorum.hpp"
#include "core/quorum_machine.hpp"

#include <interlock/backend.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace interlock::inline v1::quorum_store {

/// One claim on all nodes: carries out what its machine says.
class quorum_claim final : public alarm, public std::enable_shared_from_this<quorum_claim> {
 public:
  quorum_claim(quorum& of, const claim& who);
  quorum_claim(const quorum_claim&) = delete;
  quorum_claim& operator=(const quorum_claim&) = delete;

  [[nodiscard]] const claim_secret& secret() const noexcept { return what_.secret; }
  /// As nodes are to be told; its views live as long as this.
  [[nodiscard]] claim told() const;
  [[nodiscard]] unsigned needed() const noexcept { return needed_; }

  void enter(const claim& who, entry how, inline_work here, completion<standing> done);
  void leave(const claim& who, finality how, inline_work here, completion<departure> done);
  /// What a look at it means: a new round if it waits or wants a token, else nothing, and `done` is untouched.
  bool look(const claim& who, inline_work here, completion<standing>& done);
  /// A renewal was confirmed.
  [[nodiscard]] standing renewed() const;
  /// A majority has forgotten it.
  void lost(inline_work here);

  void hint(unsigned node) noexcept;
  void ring(instant now) override;
  /// Whoever asked is not answered any more.
  void drop() noexcept;

 private:
  using step = core::quorum_machine::step;
  using verdict = core::quorum_machine::verdict;

  /// What is to be done, in this order, with no lock held.
  struct action {
    enum class kind : std::uint8_t { enter, look, raise, leave, answer, depart };
    kind is{};
    unsigned node = 0, round = 0;
    entry how{};
    finality final{};
    node::token_news token{};
    std::vector<completion<standing>> askers{};
    result<standing> as{standing{}};
    std::vector<completion<departure>> leavers{};
    result<departure> left{departure::gone};
  };

  void learn(const claim& who);
  void plan(const step& next, entry how);
  [[nodiscard]] result<standing> answer_to(const verdict& say) const;
  template <class F>
  void change(inline_work here, F apply);
  void drain(inline_work here);
  void carry_out(action& one, inline_work here);
  void voted(unsigned node, unsigned round, const result<standing>& got);
  void schedule();

  quorum& quorum_;
  const std::string name_;
  const claim_origin origin_;
  const unsigned needed_;

  std::recursive_mutex sending_;  // taken before mutex_: nodes are told in the order in which it was decided
  unsigned depth_ = 0;
  std::vector<action> answers_;  // given when nothing is being sent any more

  mutable std::mutex mutex_;  // everything below
  claim what_;
  core::quorum_machine machine_;
  entry how_ = entry::attempt;
  std::vector<completion<standing>> askers_;
  std::vector<completion<departure>> leavers_;
  std::deque<action> actions_;
  std::vector<failure> refusals_;  // by node, of this round
  instant alarm_at_ = instant::max();
  instant look_at_ = instant::max();  // tell the engine to look again
};

}  // namespace interlock::inline v1::quorum_store
