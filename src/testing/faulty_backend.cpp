// SPDX-License-Identifier: MIT
#include "testing/faulty_backend.hpp"

#include "core/registry.hpp"

#include <interlock/cells.hpp>

#include <atomic>
#include <string>
#include <utility>

namespace interlock::inline v1::testing {

/// What the store tells, on its way to the client.
class faulty_events final : public backend_events {
 public:
  faulty_events(std::shared_ptr<fault_link> link, backend_events& to) : link_(std::move(link)), to_(to) {}

  void granted(const claim_secret& who, const standing& as) noexcept override {
    for (int times = copies(&who); times > 0; --times) to_.granted(who, as);
  }
  void look_again(const claim_secret& who) noexcept override {
    for (int times = copies(nullptr, &who); times > 0; --times) to_.look_again(who);
  }
  void evicted(const claim_secret& who) noexcept override {
    for (int times = copies(nullptr); times > 0; --times) to_.evicted(who);
  }
  void link(bool up) noexcept override {
    if (copies(nullptr) > 0) to_.link(up);
  }
  void another_server() noexcept override {
    if (copies(nullptr) > 0) to_.another_server();
  }

 private:
  int copies(const claim_secret* granted_to, const claim_secret* told = nullptr) {
    switch (link_->note_push(granted_to, told)) {
      case fault_link::pushes::drop: return 0;
      case fault_link::pushes::repeat: return 3;
      case fault_link::pushes::pass: break;
    }
    return 1;
  }
  std::shared_ptr<fault_link> link_;
  backend_events& to_;
};

class faulty_backend final : public backend {
 public:
  static result<std::unique_ptr<backend>> open(const backend_factory& make, const std::string& scheme,
                                               const backend_environment& place,
                                               const std::shared_ptr<fault_link>& link) {
    auto events = std::make_unique<faulty_events>(link, place.events);
    auto url = place.url;
    url.scheme = scheme;
    const backend_environment inner{url, place.options, place.time, *events, place.loop};
    auto store = make(inner);
    if (!store) return store.error();
    link->attach(store->get(), &place.events);
    return std::unique_ptr<backend>(new faulty_backend(std::move(events), std::move(*store), link));
  }
  ~faulty_backend() override { link_->close(); }

  const store_traits& traits() const noexcept override { return store_->traits(); }

  void enter(const claim& who, entry how, inline_work here, completion<standing> done) override {
    link_->note_enter(who);
    const auto fate = link_->judge(request::enter);
    if (fate.is == fate_kind::held_back) {
      // The caller's views may be gone when this is sent at last.
      auto kept = std::make_shared<kept_claim>(who);
      link_->hold_back([this, kept, how, done = std::move(done)]() mutable {
        store_->enter(kept->who, how, inline_work::never, answer({}, std::move(done), kept));
      });
      return;
    }
    if (auto answered = pass(fate, done)) store_->enter(who, how, here, std::move(answered));
  }
  void look(std::span<const claim> whom, inline_work here, completion<standings> done) override {
    if (auto answered = pass(link_->judge(request::look), done)) store_->look(whom, here, std::move(answered));
  }
  void leave(const claim& who, finality how, inline_work here, completion<departure> done) override {
    if (auto answered = pass(link_->judge(request::leave), done)) store_->leave(who, how, here, std::move(answered));
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    if (auto answered = pass(link_->judge(request::convert), done))
      store_->convert(who, mode, weight, how, std::move(answered));
  }
  void survey(survey_query what, completion<survey_page> done) override {
    if (auto answered = pass(link_->judge(request::survey), done)) store_->survey(std::move(what), std::move(answered));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    if (auto answered = pass(link_->judge(request::evict), done)) store_->evict(name, who, force, std::move(answered));
  }
  cell_store* cells() noexcept override { return store_->cells() == nullptr ? nullptr : &cells_; }
  void close() noexcept override {
    link_->close();
    store_->close();
  }

 private:
  /// The store's cells, over the same link.
  class faulty_cells final : public cell_store {
   public:
    explicit faulty_cells(faulty_backend& of) noexcept : of_(of) {}
    const cell_limits& limits() const noexcept override { return of_.store_->cells()->limits(); }
    void read(std::string_view name, completion<cell> done) override {
      if (auto answered = of_.pass(of_.link_->judge(request::cell_read), done))
        of_.store_->cells()->read(name, std::move(answered));
    }
    void write_if(const cell_write& what, completion<version> done) override {
      const auto fate = of_.link_->judge(request::cell_write);
      if (fate.is == fate_kind::held_back) return hold_back(what, std::move(done));
      if (auto answered = of_.pass(fate, done)) of_.store_->cells()->write_if(what, std::move(answered));
    }
    subscription watch(std::string_view name, std::function<void()> changed) override {
      return of_.store_->cells()->watch(name, [link = of_.link_, changed = std::move(changed)] {
        if (link->note_push(nullptr, nullptr) != fault_link::pushes::drop) changed();
      });
    }

   private:
    struct kept_write {
      std::string name, value;
      cell_write what;
    };
    void hold_back(const cell_write& what, completion<version> done) {
      auto kept = std::make_shared<kept_write>();
      kept->name = what.name;
      kept->value = what.value.value_or(std::string_view{});
      kept->what = what;
      kept->what.name = kept->name;
      if (what.value) kept->what.value = kept->value;
      of_.link_->hold_back([this, kept, done = std::move(done)]() mutable {
        of_.store_->cells()->write_if(
            kept->what, [kept, done = std::move(done)](result<version> got) mutable { done(std::move(got)); });
      });
    }
    faulty_backend& of_;
  };
  friend class faulty_cells;

  using fate_kind = fault_link::fate::kind;

  struct kept_claim {
    explicit kept_claim(const claim& from) : name(from.name), who(from) {
      who.name = name;
      if (from.origin != nullptr) {
        origin = *from.origin;
        who.origin = &origin;
      }
    }
    kept_claim(const kept_claim&) = delete;
    kept_claim& operator=(const kept_claim&) = delete;
    std::string name;
    claim_origin origin{};
    claim who;
  };

  faulty_backend(std::unique_ptr<faulty_events> events, std::unique_ptr<backend> store,
                 std::shared_ptr<fault_link> link)
      : link_(std::move(link)), events_(std::move(events)), store_(std::move(store)) {}

  /// Empty if the request must not reach the store; its completion has been dealt with then.
  template <class T>
  completion<T> pass(fault_link::fate fate, completion<T>& done) {
    if (fate.is == fate_kind::refused) {
      link_->later(milliseconds{0}, [done = std::move(done)]() mutable {
        done(failure(errc::unavailable, "the link to the store is down"));
      });
      return {};
    }
    if (fate.is == fate_kind::cut_off) {
      strand(*link_, std::move(done));
      return {};
    }
    if (fate.is == fate_kind::request_lost) {
      link_->bury([done = std::move(done)] {});
      return {};
    }
    return answer(fate, std::move(done), nullptr);
  }

  template <class T>
  static void strand(fault_link& link, completion<T> done) {
    link.strand([done = std::move(done)]() mutable {
      done(failure(errc::indeterminate, "the connection broke before the store's answer came"));
    });
  }

  template <class T>
  completion<T> answer(fault_link::fate fate, completion<T> done, std::shared_ptr<kept_claim> kept) {
    return [link = link_, fate, kept = std::move(kept), done = std::move(done)](result<T> got) mutable {
      if (fate.is == fate_kind::reply_lost) {
        link->bury([done = std::move(done)] {});
      } else if (link->reply_vanishes()) {
        strand(*link, std::move(done));
      } else if (fate.is == fate_kind::reply_late) {
        auto* from = link.get();
        from->later(fate.late, [from, got = std::move(got), done = std::move(done)]() mutable {
          if (from->reply_vanishes())
            from->bury([done = std::move(done)] {});
          else
            done(std::move(got));
        });
      } else {
        done(std::move(got));
      }
    };
  }

  std::shared_ptr<fault_link> link_;
  std::unique_ptr<faulty_events> events_;
  std::unique_ptr<backend> store_;
  faulty_cells cells_{*this};
};

std::string url_through(const std::shared_ptr<fault_link>& link, std::string_view url) {
  static std::atomic<unsigned> links{0};
  const std::string scheme(url.substr(0, url.find(':')));
  const auto own = "fault" + std::to_string(++links) + "+" + scheme;
  register_backend(own, [scheme, link](const backend_environment& place) -> result<std::unique_ptr<backend>> {
    // Only now: the library's own stores are made known when a client connects.
    const auto make = core::find_backend(scheme);
    if (!make) return failure(errc::invalid_argument, "no store is known for the scheme \"" + scheme + "\"");
    return faulty_backend::open(make, scheme, place, link);
  });
  return own + std::string(url.substr(scheme.size()));
}

}  // namespace interlock::inline v1::testing
