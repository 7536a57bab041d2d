// SPDX-License-Identifier: MIT
#include "testing/conformance/asking.hpp"

#include "core/random.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace interlock::inline v1::testing {

namespace {

/// Where an answer arrives; outlives a question that was given up.
template <class T>
struct mailbox {
  std::mutex mutex;
  std::condition_variable news;
  std::optional<result<T>> letter;
};

template <class T, class Ask>
result<T> ask(Ask question) {
  auto box = std::make_shared<mailbox<T>>();
  question(completion<T>([box](result<T> got) {
    const std::lock_guard held(box->mutex);
    box->letter.emplace(std::move(got));
    box->news.notify_all();
  }));
  std::unique_lock held(box->mutex);
  if (!box->news.wait_for(held, std::chrono::seconds{10}, [&] { return box->letter.has_value(); }))
    return failure(errc::indeterminate, "the store did not answer");
  return std::move(*box->letter);
}

const claim_origin& test_origin() {
  static const claim_origin one{"a host", "a program", "a test", 4711};
  return one;
}

}  // namespace

result<standing> enter(backend& store, const claim& who, entry how) {
  return ask<standing>([&](completion<standing> done) { store.enter(who, how, inline_work::never, std::move(done)); });
}

result<standings> look(backend& store, std::span<const claim> whom) {
  return ask<standings>([&](completion<standings> done) { store.look(whom, inline_work::never, std::move(done)); });
}

result<standing> look(backend& store, const claim& who) {
  auto all = look(store, std::span(&who, 1));
  if (!all) return all.error();
  if (all->size() != 1) return failure(errc::internal, "one claim was asked about, not one answer came");
  return std::move(all->front());
}

result<departure> leave(backend& store, const claim& who, finality how) {
  return ask<departure>(
      [&](completion<departure> done) { store.leave(who, how, inline_work::never, std::move(done)); });
}

result<standing> convert(backend& store, const claim& who, lock_mode mode, std::uint32_t weight, entry how) {
  return ask<standing>([&](completion<standing> done) { store.convert(who, mode, weight, how, std::move(done)); });
}

result<survey_page> survey(backend& store, survey_query what) {
  return ask<survey_page>([&](completion<survey_page> done) { store.survey(std::move(what), std::move(done)); });
}

result<bool> evict(backend& store, std::string_view name, const claim_id& who, bool force) {
  return ask<bool>([&](completion<bool> done) { store.evict(name, who, force, std::move(done)); });
}

result<cell> read(cell_store& store, std::string_view name) {
  return ask<cell>([&](completion<cell> done) { store.read(name, std::move(done)); });
}

result<version> write_if(cell_store& store, const cell_write& what) {
  return ask<version>([&](completion<version> done) { store.write_if(what, std::move(done)); });
}

namespace {
claim_secret fresh_secret() {
  static std::mutex mutex;
  static core::kernel_random random;
  const std::lock_guard held(mutex);
  return random.secret();
}
}  // namespace

cell_write fresh_write(std::string_view name, version expected, std::optional<std::string_view> value) {
  return {.name = name, .expected = expected, .value = value, .mark = fresh_secret()};
}

claim fresh_claim(std::string_view name, milliseconds lease) {
  return {.name = name, .secret = fresh_secret(), .lease = lease, .wait_lease = lease, .origin = &test_origin()};
}

claim shared_claim(std::string_view name, milliseconds lease) {
  auto one = fresh_claim(name, lease);
  one.mode = lock_mode::shared;
  one.weight = 1;
  return one;
}

claim permit_claim(std::string_view name, std::uint32_t weight, std::uint32_t capacity, milliseconds lease) {
  auto one = fresh_claim(name, lease);
  one.weight = weight;
  one.capacity = capacity;
  return one;
}

}  // namespace interlock::inline v1::testing
