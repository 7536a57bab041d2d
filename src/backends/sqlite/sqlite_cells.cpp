// SPDX-License-Identifier: MIT
#include "backends/sqlite/sqlite_cells.hpp"

#include "backends/sqlite/store.hpp"
#include "core/sha256.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace interlock::inline v1::sqlite_store {
namespace {

std::string text_of(const claim_secret& key) {
  return {reinterpret_cast<const char*>(key.bytes().data()), key.bytes().size()};
}

}  // namespace

claim_secret cells::key_of(std::string_view name) noexcept {
  const auto sum = core::sha256(std::as_bytes(std::span(name.data(), name.size())));
  std::array<std::byte, 16> half{};
  std::copy_n(sum.begin(), half.size(), half.begin());
  return claim_secret(half);
}

const cell_limits& cells::limits() const noexcept {
  static constexpr cell_limits told{.push = true}, polls{.push = false};
  return store_.traits().push ? told : polls;
}

void cells::read(std::string_view name, completion<cell> done) {
  struct reading final : job {
    reading(ledger& books, std::string what, completion<cell> then)
        : ledger_(books), name_(std::move(what)), done_(std::move(then)) {}
    bool attempt() override { return (answer_ = ledger_.read_cell(name_)).has_value(); }
    void finish() override { done_(std::move(*answer_)); }
    void refuse(const failure& why) override { done_(why); }

   private:
    ledger& ledger_;
    std::string name_;
    completion<cell> done_;
    std::optional<result<cell>> answer_;
  };
  const store::visit here(store_);
  if (here.refused(done)) return;
  auto one = std::make_unique<reading>(*store_.ledger_, std::string(name), std::move(done));
  one->until = store_.time_.now() + store_.patience_;
  store_.worker_.queue(std::move(one));
}

void cells::write_if(const cell_write& what, completion<version> done) {
  completion<version> told = [this, key = key_of(what.name), done = std::move(done)](result<version> got) mutable {
    if (got) {
      watchers_.tell(text_of(key));
      store_.tell_others(key);
    }
    done(std::move(got));
  };
  store_.ask<version>(inline_work::never, std::move(told), [what](ledger& books) { return books.change_cell(what); });
}

subscription cells::watch(std::string_view name, std::function<void()> changed) {
  store_.listen_to_others();
  return watchers_.add(text_of(key_of(name)), std::move(changed));
}

void cells::told(const claim_secret& key) noexcept { watchers_.tell(text_of(key)); }

}  // namespace interlock::inline v1::sqlite_store
