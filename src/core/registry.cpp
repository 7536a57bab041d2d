// SPDX-License-Identifier: MIT
#include "core/registry.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace interlock::inline v1 {
namespace {

struct registry {
  std::mutex mutex;
  std::map<std::string, backend_factory, std::less<>> made;
  std::map<std::string, core::schema_factory, std::less<>> schemas;
};
registry& all() {
  static registry one;
  return one;
}

constexpr std::array<std::string_view, 5> engine_options{"lease", "linger", "patience", "prefix", "require"};

}  // namespace

void register_backend(std::string_view scheme, backend_factory make) {
  auto& here = all();
  const std::lock_guard lock(here.mutex);
  here.made.insert_or_assign(std::string(scheme), std::move(make));
}

namespace core {

backend_factory find_backend(std::string_view scheme) {
  auto& here = all();
  const std::lock_guard lock(here.mutex);
  const auto found = here.made.find(scheme);
  return found == here.made.end() ? backend_factory{} : found->second;
}

std::vector<std::string> known_schemes() {
  auto& here = all();
  const std::lock_guard lock(here.mutex);
  std::vector<std::string> out;
  for (const auto& [scheme, make] : here.made) out.push_back(scheme);
  return out;
}

void register_schema(std::string_view scheme, schema_factory make) {
  auto& here = all();
  const std::lock_guard lock(here.mutex);
  here.schemas.insert_or_assign(std::string(scheme), std::move(make));
}

schema_factory find_schema(std::string_view scheme) {
  auto& here = all();
  const std::lock_guard lock(here.mutex);
  const auto found = here.schemas.find(scheme);
  return found == here.schemas.end() ? schema_factory{} : found->second;
}

std::vector<std::string> schemes_with_schema() {
  auto& here = all();
  const std::lock_guard lock(here.mutex);
  std::vector<std::string> out;
  for (const auto& [scheme, make] : here.schemas) out.push_back(scheme);
  return out;
}

result<void> check_options(const store_url& url, std::initializer_list<std::string_view> mine) {
  for (const auto& [name, value] : url.options) {
    if (std::find(engine_options.begin(), engine_options.end(), name) != engine_options.end()) continue;
    if (std::find(mine.begin(), mine.end(), name) != mine.end()) continue;
    std::string known;
    for (const auto& one : engine_options) known += (known.empty() ? "" : ", ") + std::string(one);
    for (const auto& one : mine) known += ", " + std::string(one);
    return failure(errc::invalid_argument,
                   "store URL: " + url.scheme + " has no option \"" + name + "\"; it has " + known);
  }
  return {};
}

}  // namespace core
}  // namespace interlock::inline v1
