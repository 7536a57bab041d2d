// SPDX-License-Identifier: MIT
#include "testing/conformance/store_under_test.hpp"

#include "testing/conformance/asking.hpp"
#include "testing/faulty_backend.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace interlock::inline v1::testing {

using namespace std::chrono_literals;

namespace {
peer join_at(const std::string& url, client_options options) {
  auto link = std::make_shared<fault_link>();
  if (!options.linger) options.linger = 100ms;  // many a client here ends with its link cut: do not wait long for it
  client locks(url_through(link, url), std::move(options));
  return {std::move(locks), std::move(link)};
}

int pace() {
  const char* said = std::getenv("INTERLOCK_TEST_PACE");
  if (said == nullptr) return 1;
  int times = 0;
  const auto* end = said + std::strlen(said);
  const auto [rest, wrong] = std::from_chars(said, end, times);
  if (wrong != std::errc{} || rest != end || times < 1 || times > 100)
    throw std::invalid_argument("INTERLOCK_TEST_PACE=" + std::string(said) + " is not a number from 1 to 100");
  return times;
}
}  // namespace

store_under_test::store_under_test(std::unique_ptr<harness> from)
    : harness_(std::move(from)), onlooker_(join_at(harness_->url(), {.purpose = "looks on"})) {}

peer store_under_test::join(client_options options) {
  auto one = join_at(harness_->url(), std::move(options));
  const std::lock_guard held(mutex_);
  links_.push_back(one.link);
  return one;
}

client store_under_test::connect(client_options options) { return join(std::move(options)).locks; }

milliseconds store_under_test::short_lease() const {
  static const auto usual = 300ms * pace();
  return std::max(usual, traits().lease_min);
}

bool store_under_test::peek(std::string_view name) {
  if (const auto known = harness_->peek(name)) return *known;
  return !inspect(name).holders.empty();
}

std::size_t store_under_test::waiting(std::string_view name) {
  if (traits().survey) return inspect(name).waiters.size();
  std::vector<claim_secret> asked;
  {
    const std::lock_guard held(mutex_);
    for (const auto& weak : links_)
      if (const auto link = weak.lock())
        for (const auto& one : link->entered())
          if (one.name == name && std::find(asked.begin(), asked.end(), one.secret) == asked.end())
            asked.push_back(one.secret);
  }
  return asked.size() - std::min<std::size_t>(asked.size(), peek(name) ? 1 : 0);
}

bool store_under_test::empty(std::initializer_list<std::string_view> names) {
  if (traits().survey) return survey().empty();
  return std::none_of(names.begin(), names.end(), [&](std::string_view name) { return peek(name); });
}

// Whoever knows a claim's secret can end it, from any connection; every claim went through one of our links.
void store_under_test::steal(std::string_view name) {
  if (harness_->steal(name)) return;
  std::vector<fault_link::entered_claim> known;
  {
    const std::lock_guard held(mutex_);
    for (const auto& weak : links_) {
      const auto link = weak.lock();
      if (!link) continue;
      for (auto& one : link->entered())
        if (one.name == name) known.push_back(std::move(one));
    }
  }
  const auto held_by = inspect(name).holders;
  for (const auto& one : known) {
    const auto id = public_id(one.secret);
    if (std::none_of(held_by.begin(), held_by.end(), [&](const claim_info& holder) { return holder.id == id; }))
      continue;
    const claim whose{.name = one.name, .secret = one.secret, .mode = one.mode, .lease = 1000ms, .wait_lease = 1000ms};
    leave(waist(), whose, finality::answered).value();
  }
}

}  // namespace interlock::inline v1::testing
