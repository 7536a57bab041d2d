// SPDX-License-Identifier: MIT
#include "testing/conformance/store_under_test.hpp"

#include <map>
#include <stdexcept>
#include <utility>

namespace interlock::inline v1::testing {

// clang-format off
#define INTERLOCK_SUITES(each) \
  each(cells) each(coroutines) each(conversion) each(endings) each(eviction) each(honest_outcomes) each(latches) each(leases) each(loss) \
  each(mutual_exclusion) each(names) each(onlookers) each(ownership) each(permits) each(queue) each(reentry) \
  each(several_names) each(sharing) each(standard_wrappers) each(tokens) each(waist)
// clang-format on

#define INTERLOCK_DECLARE(suite) void keep_##suite();
INTERLOCK_SUITES(INTERLOCK_DECLARE)

namespace {
std::map<std::string, harness_factory>& factories() {
  static std::map<std::string, harness_factory> all;
  return all;
}

class plain_harness final : public harness {
 public:
  explicit plain_harness(std::string url) : url_(std::move(url)) {}
  std::string url() const override { return url_; }

 private:
  std::string url_;
};
}  // namespace

std::optional<bool> harness::peek(std::string_view) { return std::nullopt; }
bool harness::steal(std::string_view) { return false; }

std::unique_ptr<harness> harness_for(std::string url) { return std::make_unique<plain_harness>(std::move(url)); }

bool register_conformance(std::string_view store, harness_factory make) {
#define INTERLOCK_KEEP(suite) keep_##suite();
  INTERLOCK_SUITES(INTERLOCK_KEEP)
  if (!factories().emplace(store, std::move(make)).second)
    throw std::logic_error("the store " + std::string(store) + " is registered twice");
  return true;
}

std::vector<std::string> registered_stores() {
  std::vector<std::string> names;
  for (const auto& [name, make] : factories()) names.push_back(name);
  return names;
}

std::unique_ptr<harness> make_harness(const std::string& store) { return factories().at(store)(); }

}  // namespace interlock::inline v1::testing
