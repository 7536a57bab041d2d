// SPDX-License-Identifier: MIT
#include "backends/etcd/wire.hpp"

namespace interlock::inline v1::etcd_store {

key_range beginning_with(std::string prefix) {
  auto end = prefix;
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (end.empty()) return {prefix.empty() ? std::string(1, '\0') : std::move(prefix), std::string(1, '\0')};
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return {std::move(prefix), std::move(end)};
}

comparison absent(key_range keys) { return {.of = std::move(keys)}; }

comparison created_at(std::string key, revision when) {
  return {.of = {std::move(key), {}}, .what = comparison::field::created, .to = when};
}

comparison modified_at(std::string key, revision when) {
  return {.of = {std::move(key), {}}, .what = comparison::field::modified, .to = when};
}

comparison unchanged_since(key_range keys, revision when) {
  return {.of = std::move(keys), .what = comparison::field::modified, .is = comparison::relation::less, .to = when + 1};
}

comparison none_younger(key_range keys, revision when) {
  return {.of = std::move(keys), .what = comparison::field::created, .is = comparison::relation::less, .to = when + 1};
}

operation get(std::string key) { return {.keys = {std::move(key), {}}}; }
operation get_all(key_range keys) { return {.keys = std::move(keys)}; }
operation get_first(key_range keys) { return {.keys = std::move(keys), .limit = 1}; }
operation get_youngest(key_range keys, std::int64_t limit) {
  return {.keys = std::move(keys), .limit = limit, .sorted = operation::order::youngest_first};
}
operation count(key_range keys) { return {.keys = std::move(keys), .count_only = true}; }

operation put(std::string key, std::string value, lease_id lease) {
  return {.is = operation::kind::put, .keys = {std::move(key), {}}, .value = std::move(value), .lease = lease};
}

operation remove(std::string key) { return {.is = operation::kind::remove, .keys = {std::move(key), {}}}; }

operation nested(transaction what) {
  operation out{.is = operation::kind::nested};
  out.inner.push_back(std::move(what));
  return out;
}

}  // namespace interlock::inline v1::etcd_store
