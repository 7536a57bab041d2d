// SPDX-License-Identifier: MIT
#include "backends/memory/memory_store.hpp"

#include "core/origin.hpp"
#include "core/registry.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace interlock::inline v1::memory_store {

using core::book_news;
using core::claim_book;

namespace {

constexpr std::size_t idle_check = 4096;  // names touched between two clean-ups

/// How news reaches one client. Closed under its own mutex, so that no event arrives after close() returned.
struct port final : core::claim_source {
  std::mutex mutex;
  backend_events* events = nullptr;

  void deliver(const book_news& one) {
    const std::lock_guard lock(mutex);
    if (events == nullptr) return;
    if (one.is == book_news::kind::granted)
      events->granted(one.whom, one.as);
    else
      events->evicted(one.whom);
  }
};

// shared_ptr<const claim_source> in the book, the port behind it: the book must not care.
port* port_of(const std::shared_ptr<const core::claim_source>& from) {
  return const_cast<port*>(static_cast<const port*>(from.get()));
}

void deliver(const claim_book::news& all, const claim_secret* not_to = nullptr) {
  for (const auto& one : all)
    if (one.to && (not_to == nullptr || !(one.whom == *not_to))) port_of(one.to)->deliver(one);
}

}  // namespace

claim_book& books::book_of(std::string_view name) {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  if (++touched_ >= idle_check) forget_idle();
  auto& fresh = names_[std::string(name)];
  fresh.raise_token(token_floor_);
  return fresh;
}

void books::forget_idle() {
  touched_ = 0;
  for (auto it = names_.begin(); it != names_.end();) {
    if (!it->second.idle()) {
      ++it;
      continue;
    }
    token_floor_ = std::max(token_floor_, it->second.token());
    it = names_.erase(it);
  }
}

void books::remove_holders(std::string_view name) {
  claim_book::news out;
  {
    const std::lock_guard lock(mutex_);
    auto& book = book_of(name);
    const auto now = time_.now();
    for (bool again = true; again;) {
      again = false;
      for (const auto& one : book.claims()) {
        if (one.is != core::book_claim::state::held) continue;
        const auto seq = one.seq;
        // Only those that hold now: whoever is granted by this keeps it.
        if (std::any_of(out.begin(), out.end(), [&](const book_news& told) { return told.seq == seq; })) continue;
        book.discard(seq, now, out);
        again = true;
        break;
      }
    }
  }
  deliver(out);
}

lock_info books::describe(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return book_of(name).describe(name, time_.now());
}

class memory_backend final : public backend {
 public:
  memory_backend(std::shared_ptr<books> shared, const backend_environment& environment)
      : books_(std::move(shared)), port_(std::make_shared<port>()) {
    port_->origin = core::own_origin(environment.options.purpose);
    port_->events = &environment.events;
    traits_.guarantee = guarantee::strict;
    traits_.convert = traits_.fifo = traits_.permits = traits_.push = traits_.shared = true;
    traits_.survey = traits_.tokens = traits_.cells = traits_.latches = true;
    traits_.store = "memory";
    traits_.layout = "book";
    traits_.caveat = "lives and dies with this process";
    traits_.lease_max = std::chrono::hours{24 * 30};
  }
  ~memory_backend() override { close(); }
  memory_backend(const memory_backend&) = delete;
  memory_backend& operator=(const memory_backend&) = delete;

  [[nodiscard]] const store_traits& traits() const noexcept override { return traits_; }

  void enter(const claim& who, entry how, inline_work, completion<standing> done) override {
    auto answer = change(who.name, [&](claim_book& book, instant now, claim_book::news& out) {
      return book.enter(who, how, port_, now, out);
    });
    done(std::move(answer));
  }
  void look(std::span<const claim> whom, inline_work, completion<standings> done) override {
    standings answers;
    answers.reserve(whom.size());
    for (const auto& who : whom)
      answers.emplace_back(change(
          who.name, [&](claim_book& book, instant now, claim_book::news& out) { return book.look(who, now, out); },
          &who.secret));
    done(std::move(answers));
  }
  void leave(const claim& who, finality how, inline_work, completion<departure> done) override {
    const auto was = change(
        who.name, [&](claim_book& book, instant now, claim_book::news& out) { return book.leave(who, how, now, out); });
    done(was);
  }
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done) override {
    auto answer = change(who.name, [&](claim_book& book, instant now, claim_book::news& out) {
      return book.convert(who, mode, weight, how, now, out);
    });
    done(std::move(answer));
  }
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) override {
    const bool was = change(
        name, [&](claim_book& book, instant now, claim_book::news& out) { return book.evict(who, force, now, out); });
    done(was);
  }
  void survey(survey_query what, completion<survey_page> done) override {
    survey_page page;
    {
      const std::lock_guard lock(books_->mutex_);
      const auto now = books_->time_.now();
      for (const auto& [name, book] : books_->names_) {
        const bool asked = what.exact ? name == what.prefix : name.starts_with(what.prefix);
        if (!asked || name <= what.after) continue;
        auto info = book.describe(name, now);
        if (!info.holders.empty() || !info.waiters.empty()) page.locks.push_back(std::move(info));
      }
    }
    std::sort(page.locks.begin(), page.locks.end(),
              [](const lock_info& left, const lock_info& right) { return left.name < right.name; });
    page.more = page.locks.size() > what.most;
    if (page.more) page.locks.resize(what.most);
    done(std::move(page));
  }
  cell_store* cells() noexcept override { return &books_->cells_; }
  void close() noexcept override {
    const std::lock_guard lock(port_->mutex);
    port_->events = nullptr;
  }

 private:
  // One change to one book; news goes out after the books are unlocked. An uncontended change makes no news and
  // allocates nothing. `reader`: its answer says already what news would tell it.
  template <class F>
  std::invoke_result_t<F, claim_book&, instant, claim_book::news&> change(std::string_view name, F apply,
                                                                          const claim_secret* reader = nullptr) {
    claim_book::news out;
    std::unique_lock lock(books_->mutex_);
    auto answer = apply(books_->book_of(name), books_->time_.now(), out);
    lock.unlock();
    deliver(out, reader);
    return answer;
  }

  std::shared_ptr<books> books_;
  std::shared_ptr<port> port_;
  store_traits traits_;
};

std::unique_ptr<backend> open_memory(std::shared_ptr<books> shared, const backend_environment& environment) {
  return std::make_unique<memory_backend>(std::move(shared), environment);
}

result<std::unique_ptr<backend>> open_memory(const backend_environment& environment) {
  if (auto known = core::check_options(environment.url, {}); !known) return known.error();
  if (!environment.url.endpoints.empty())
    return failure(errc::invalid_argument, "store URL: memory: takes no host; write memory: or memory:NAME");
  const auto& name = environment.url.path;
  if (name.empty()) return open_memory(std::make_shared<books>(environment.time), environment);

  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<books>, std::less<>> shared;
  const std::lock_guard lock(mutex);
  auto& kept = shared[name];
  auto one = kept.lock();
  if (!one) kept = one = std::make_shared<books>(environment.time);
  return open_memory(std::move(one), environment);
}

}  // namespace interlock::inline v1::memory_store
