// SPDX-License-Identifier: MIT
#include "backends/redis/replicated_layout.hpp"

#include <interlock/cells.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace interlock::inline v1::redis_store {
namespace {

/// A claim that outlives the call it came with.
struct kept_claim {
  explicit kept_claim(const claim& from)
      : name(from.name), origin(from.origin != nullptr ? *from.origin : claim_origin{}), what(from) {
    what.name = name;
    what.origin = &origin;
  }
  kept_claim(const kept_claim&) = delete;
  kept_claim& operator=(const kept_claim&) = delete;
  std::string name;
  claim_origin origin;
  claim what;
};

/// Written over the second connection, and confirmed there. What too few replicas confirm cannot be taken back: it is
/// indeterminate, and asking again finds it by its mark and waits once more.
class confirmed_cells final : public cell_store {
 public:
  using confirm = std::function<void(std::string_view name, completion<void>)>;
  confirmed_cells(cell_store& first, cell_store& second, confirm sure)
      : first_(first), second_(second), sure_(std::move(sure)) {}

  [[nodiscard]] const cell_limits& limits() const noexcept override { return first_.limits(); }
  void read(std::string_view name, completion<cell> done) override { first_.read(name, std::move(done)); }
  void write_if(const cell_write& what, completion<version> done) override {
    second_.write_if(what, [this, name = what.name, done = std::move(done)](result<version> got) mutable {
      if (!got) return done(std::move(got));
      sure_(name, [made = *got, done = std::move(done)](const result<void>& sure) mutable {
        done(sure ? result<version>(made) : result<version>(failure(errc::indeterminate, sure.error().message())));
      });
    });
  }
  subscription watch(std::string_view name, std::function<void()> changed) override {
    return first_.watch(name, std::move(changed));
  }

 private:
  cell_store& first_;
  cell_store& second_;
  confirm sure_;
};

class replicated final : public layout {
 public:
  replicated(std::unique_ptr<layout> inner, std::unique_ptr<layout> witness, courier& way, const confirmation& wanted)
      : inner_(std::move(inner)), witness_(std::move(witness)), way_(way), wanted_(wanted) {
    auto* const first = inner_->cells();
    auto* const second = witness_->cells();
    if (first != nullptr && second != nullptr)
      cells_ = std::make_unique<confirmed_cells>(*first, *second, [this](std::string_view name, completion<void> done) {
        wait({inner_->route(name)}, std::move(done));
      });
  }

  void begin() override {
    inner_->begin();
    witness_->begin();
  }
  void describe(store_traits& traits) const override {
    inner_->describe(traits);
    traits.caveat = "with replicas=" + std::to_string(wanted_.replicas) +
                    " a fail-over forgets a lock only if it goes to a replica that had not confirmed it; " +
                    traits.caveat;
  }

  void enter(const claim& who, entry how, inline_work here, completion<standing>&& done) override {
    auto kept = std::make_shared<kept_claim>(who);
    inner_->enter(kept->what, how, here, [this, kept, done = std::move(done)](result<standing> got) mutable {
      if (!got || got->is != standing::kind::held) return done(std::move(got));
      confirm(kept, *got, true, std::move(done));
    });
  }
  void look_by(courier&, std::span<const claim> whom, inline_work here, completion<standings> done) override {
    look(whom, here, std::move(done));  // it has ways of its own
  }
  void look(std::span<const claim> whom, inline_work, completion<standings> done) override {
    struct batch {
      std::vector<std::unique_ptr<kept_claim>> kept;
      std::vector<claim> asked;
    };
    auto all = std::make_shared<batch>();
    for (const auto& one : whom) {
      all->kept.push_back(std::make_unique<kept_claim>(one));
      all->asked.push_back(all->kept.back()->what);
    }
    inner_->look_by(
        way_, all->asked, inline_work::never, [this, all, done = std::move(done)](result<standings> got) mutable {
          if (!got) return done(std::move(got));
          const bool any = std::any_of(got->begin(), got->end(), [](const result<standing>& one) {
            return one && one->is == standing::kind::held;
          });
          if (!any) return done(std::move(got));
          std::vector<std::string> routes;
          for (const auto& one : all->kept) routes.push_back(inner_->route(one->name));
          wait(std::move(routes), [got = std::move(*got), done = std::move(done)](result<void> sure) mutable {
            if (!sure)
              for (auto& one : got)
                if (one && one->is == standing::kind::held) one = sure.error();
            done(std::move(got));
          });
        });
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure>&& done) override {
    inner_->leave(who, how, here, std::move(done));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    auto kept = std::make_shared<kept_claim>(who);
    inner_->convert(kept->what, mode, weight, how, [this, kept, done = std::move(done)](result<standing> got) mutable {
      if (!got || got->is != standing::kind::held) return done(std::move(got));
      kept->what.mode = got->mode;
      confirm(kept, *got, false, std::move(done));
    });
  }
  void survey(survey_query what, completion<survey_page> done) override {
    inner_->survey(std::move(what), std::move(done));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    inner_->evict(name, who, force, std::move(done));
  }
  cell_store* cells() noexcept override { return cells_.get(); }
  void message(std::string_view channel, std::string_view payload) noexcept override {
    inner_->message(channel, payload);
  }

 private:
  using kept_pointer = std::shared_ptr<kept_claim>;

  // A write over the second connection, and WAIT behind it: what replicas have of that, they have of the grant.
  void confirm(const kept_pointer& kept, const standing& granted, bool undo, completion<standing> done) {
    kept->what.memo = granted.memo;
    kept->what.tokens = 1;  // the grant has reserved its block
    const std::span<const claim> one(&kept->what, 1);
    inner_->look_by(way_, one, inline_work::never,
                    [this, kept, granted, undo, done = std::move(done)](result<standings> got) mutable {
                      if (!got) return refuse(kept, got.error(), undo, std::move(done));
                      if (!got->front() || got->front()->is != standing::kind::held)
                        return done(std::move(got->front()));
                      wait({inner_->route(kept->name)},
                           [this, kept, granted, undo, done = std::move(done)](result<void> sure) mutable {
                             if (!sure) return refuse(kept, sure.error(), undo, std::move(done));
                             done(granted);
                           });
                    });
  }

  void refuse(const kept_pointer& kept, const failure& why, bool undo, completion<standing> done) {
    if (!undo) return done(failure(errc::indeterminate, why.message()));
    inner_->leave(kept->what, finality::answered, inline_work::never,
                  [kept, why, done = std::move(done)](result<departure> left) mutable {
                    // Not undone for sure: the core goes on with that.
                    if (!left) return done(failure(errc::indeterminate, why.message()));
                    done(failure(errc::unavailable, why.message()));
                  });
  }

  /// One WAIT for each slot, and the worst of the answers.
  struct tally {
    std::mutex mutex;
    std::size_t open = 0;
    result<void> sure{};
    completion<void> done;
  };
  void wait(std::vector<std::string> routes, completion<void> done) {
    std::sort(routes.begin(), routes.end(),
              [](const auto& left, const auto& right) { return slot_of(left) < slot_of(right); });
    routes.erase(std::unique(routes.begin(), routes.end(),
                             [](const auto& left, const auto& right) { return slot_of(left) == slot_of(right); }),
                 routes.end());
    auto all = std::make_shared<tally>();
    all->open = routes.size();
    all->done = std::move(done);
    const auto count = std::to_string(wanted_.replicas), patience = std::to_string(wanted_.patience.count());
    for (const auto& route : routes)
      way_.send(packet({"WAIT", count, patience}, route), inline_work::never,
                [all, wanted = wanted_](const result<reply>& got) {
                  {
                    const std::lock_guard lock(all->mutex);
                    if (!got)
                      all->sure = got.error();
                    else if (got->number() < wanted.replicas)
                      all->sure = too_few(got->number(), wanted);
                    if (--all->open > 0) return;
                  }
                  all->done(all->sure);
                });
  }

  static failure too_few(std::int64_t count, const confirmation& wanted) {
    return failure(errc::unavailable, "only " + std::to_string(count) + " of " + std::to_string(wanted.replicas) +
                                          " replicas have confirmed it within " +
                                          std::to_string(wanted.patience.count()) + " ms");
  }

  std::unique_ptr<layout> inner_, witness_;
  courier& way_;
  confirmation wanted_;
  std::unique_ptr<confirmed_cells> cells_;
};

}  // namespace

std::unique_ptr<layout> make_replicated_layout(std::unique_ptr<layout> inner, std::unique_ptr<layout> witness,
                                               courier& way, const confirmation& wanted) {
  return std::make_unique<replicated>(std::move(inner), std::move(witness), way, wanted);
}

}  // namespace interlock::inline v1::redis_store
