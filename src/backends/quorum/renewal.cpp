// SPDX-License-Identifier: MIT
#include "backends/quorum/renewal.hpp"

#include "backends/quorum/quorum_claim.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace interlock::inline v1::quorum_store {

using core::node_vote;
using core::quorum_tally;

namespace {

node_vote::kind vote_on_renewal(const result<standing>& got) noexcept {
  if (!got) return node_vote::kind::silent;
  switch (got->is) {
    case standing::kind::held: return node_vote::kind::yes;
    case standing::kind::waiting: return node_vote::kind::place;
    case standing::kind::busy: return node_vote::kind::busy;
    case standing::kind::gone: break;
  }
  return got->reason == standing::cause::evicted ? node_vote::kind::evicted : node_vote::kind::gone;
}

/// One look of the engine: answered when all of it is decided.
class renewal final : public alarm, public std::enable_shared_from_this<renewal> {
 public:
  renewal(std::shared_ptr<quorum> at, completion<standings> done) : quorum_(std::move(at)), done_(std::move(done)) {}

  void start(std::span<const claim> whom, inline_work here) {
    answers_.assign(whom.size(), failure(errc::internal, "a claim was not asked about"));
    open_ = whom.size() + 1;  // one for this function: nothing is answered before everything was asked
    for (std::size_t i = 0; i < whom.size(); ++i) {
      auto known = quorum_->find(whom[i].secret);
      completion<standing> alone = [self = shared_from_this(), i](result<standing> got) {
        self->decided(i, std::move(got));
      };
      if (known && known->look(whom[i], here, alone)) continue;
      const bool ours = known != nullptr;
      if (!known) known = std::make_shared<quorum_claim>(*quorum_, whom[i]);
      batch_.push_back({.place = i, .about = std::move(known), .ours = ours});
    }
    for (auto& one : batch_) {
      one.tally.emplace(quorum_->size(), one.about->needed());
      auto told = one.about->told();
      told.lease = std::max(told.lease, whom[one.place].lease);
      asked_.push_back(told);
    }
    if (!batch_.empty()) ask(here);
    arrived();
  }

  void ring(instant) override {
    std::vector<std::size_t> late;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < batch_.size(); ++i)
        if (!batch_[i].decided) late.push_back(i);
    }
    for (const auto i : late) judge(i, [](quorum_tally& tally) { return tally.close(); });
  }

 private:
  struct item {
    std::size_t place = 0;
    std::shared_ptr<quorum_claim> about{};
    bool ours = false;
    std::optional<quorum_tally> tally{};
    std::uint64_t token = 0;
    bool decided = false;
  };

  void ask(inline_work here) {
    auto longest = milliseconds{0}, shortest = milliseconds::max();
    for (const auto& one : asked_) {
      longest = std::max(longest, one.lease);
      shortest = std::min(shortest, one.lease);
    }
    const auto now = quorum_->now();
    shut_ = quorum_->shut_out(now, longest);
    quorum_->at_about(now + quorum_->rules().patience_for(shortest), weak_from_this());
    for (unsigned node = 0; node < quorum_->size(); ++node)
      quorum_->at(node).locks().look(asked_, here, [self = shared_from_this(), node](result<standings> got) {
        for (std::size_t i = 0; i < self->batch_.size(); ++i)
          self->voted(i, node, got && i < got->size() ? (*got)[i] : result<standing>(failure(errc::unavailable)));
      });
  }

  void voted(std::size_t i, unsigned node, const result<standing>& got) {
    auto vote = vote_on_renewal(got);
    if (vote == node_vote::kind::yes && shut_.has(node)) vote = node_vote::kind::silent;
    judge(i, [&](quorum_tally& tally) {
      if (got && got->is == standing::kind::held) batch_[i].token = std::max(batch_[i].token, got->token);
      return tally.cast(node, vote);
    });
  }

  template <class F>
  void judge(std::size_t i, F cast) {
    quorum_tally::verdict how{};
    std::uint64_t token = 0;
    auto& one = batch_[i];
    {
      const std::lock_guard lock(mutex_);
      if (one.decided) return;
      how = cast(*one.tally);
      if (how == quorum_tally::verdict::open) return;
      one.decided = true;
      token = one.token;
    }
    decided(one.place, answer(one, how, token));
  }

  result<standing> answer(const item& one, quorum_tally::verdict how, std::uint64_t token) {
    standing out;
    switch (how) {
      case quorum_tally::verdict::held:
        out = one.about->renewed();
        if (!one.ours) {
          out.token = token;
          out.tokens = token == 0 ? 0 : 1;
        }
        return out;
      case quorum_tally::verdict::waiting: out.is = standing::kind::waiting; return out;
      case quorum_tally::verdict::evicted:
        out.reason = standing::cause::evicted;
        quorum_->forget(*one.about);  // what is left of it keeps the lock shut until its lease is over
        return out;
      case quorum_tally::verdict::gone:
        if (one.ours) one.about->lost(inline_work::if_brief);
        return out;
      case quorum_tally::verdict::open:
      case quorum_tally::verdict::unknown: break;
    }
    return failure(errc::unavailable, "too few nodes have confirmed it; " + quorum_->trouble());
  }

  void decided(std::size_t place, result<standing> how) {
    {
      const std::lock_guard lock(mutex_);
      answers_[place] = std::move(how);
    }
    arrived();
  }

  void arrived() {
    {
      const std::lock_guard lock(mutex_);
      if (--open_ > 0) return;
    }
    done_(std::move(answers_));
  }

  const std::shared_ptr<quorum> quorum_;
  completion<standings> done_;
  std::vector<item> batch_;
  std::vector<claim> asked_;
  core::node_set shut_{};
  std::mutex mutex_;
  standings answers_;
  std::size_t open_ = 0;
};

}  // namespace

void look(const std::shared_ptr<quorum>& at, std::span<const claim> whom, inline_work here,
          completion<standings> done) {
  std::make_shared<renewal>(at, std::move(done))->start(whom, here);
}

}  // namespace interlock::inline v1::quorum_store
