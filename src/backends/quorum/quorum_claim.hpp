// SPDX-License-Identifier: MIT
#pragma once

#include "backends/quorum/quorum.hpp"
#include "core/quorum_machine.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
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

  /// What a node is to be told, in this order, with no lock held.
  struct errand {
    enum class kind : std::uint8_t { enter, look, raise, leave };
    kind is{};
    entry how{};
    finality final{};
    unsigned node = 0, round = 0;
    node::token_news token{};
  };
  /// Whom to answer, and what.
  struct answers {
    std::vector<std::pair<std::vector<completion<standing>>, result<standing>>> asked{};
    std::vector<std::pair<std::vector<completion<departure>>, result<departure>>> left{};
    [[nodiscard]] bool empty() const noexcept { return asked.empty() && left.empty(); }
  };

  void learn(const claim& who);
  void plan(const step& next, entry how);
  [[nodiscard]] result<standing> answer_to(const verdict& say) const;
  template <class F>
  void change(inline_work here, F apply);
  void drain(inline_work here);
  void carry_out(const errand& one, inline_work here);
  void voted(unsigned node, unsigned round, const result<standing>& got);
  void schedule();

  quorum& quorum_;
  const std::string name_;
  const claim_origin origin_;
  const unsigned needed_;

  std::recursive_mutex sending_;  // taken before mutex_: nodes are told in the order in which it was decided
  unsigned depth_ = 0;

  mutable std::mutex mutex_;  // everything below
  claim what_;
  core::quorum_machine machine_;
  entry how_ = entry::attempt;
  std::vector<completion<standing>> askers_;
  std::vector<completion<departure>> leavers_;
  std::vector<errand> errands_;
  std::size_t next_errand_ = 0;
  answers answers_;                // given when nothing is being sent any more
  std::vector<failure> refusals_;  // by node, of this round
  instant alarm_at_ = instant::max();
  instant look_at_ = instant::max();  // tell the engine to look again
};

}  // namespace interlock::inline v1::quorum_store
