// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What is said to etcd and heard from it, in plain values: Protobuf's headers take seconds to compile, so they stay in
/// the few files that send.
namespace interlock::inline v1::etcd_store {

using revision = std::int64_t;
using lease_id = std::int64_t;

struct key_value {
  std::string key{}, value{};
  revision created = 0;
  revision modified = 0;
  lease_id lease = 0;
};

/// The keys from `key` up to `end`; without an end, the key itself.
struct key_range {
  std::string key{}, end{};
};
/// All keys that begin so; for an empty beginning, all keys.
key_range beginning_with(std::string prefix);

struct comparison {
  enum class field : std::uint8_t { created, modified };
  enum class relation : std::uint8_t { equal, less };
  key_range of{};
  field what = field::created;
  relation is = relation::equal;
  revision to = 0;
};
/// None of these keys exists.
comparison absent(key_range keys);
comparison created_at(std::string key, revision when);
comparison modified_at(std::string key, revision when);
/// Nothing here was written since, though something may have been removed.
comparison unchanged_since(key_range keys, revision when);
/// Nothing here was created since.
comparison none_younger(key_range keys, revision when);

struct transaction;

struct operation {
  enum class kind : std::uint8_t { get, put, remove, nested };
  enum class order : std::uint8_t { by_key, youngest_first };
  kind is = kind::get;
  key_range keys{};
  std::string value{};         // put
  lease_id lease = 0;          // put
  std::int64_t limit = 0;      // get; 0: all
  revision created_until = 0;  // get; 0: all
  order sorted = order::by_key;
  bool keys_only = false;
  bool count_only = false;
  std::vector<transaction> inner;  // nested: one
};
operation get(std::string key);
operation get_all(key_range keys);
/// The youngest, so many at most.
operation get_youngest(key_range keys, std::int64_t limit);
operation get_first(key_range keys);
operation count(key_range keys);
operation put(std::string key, std::string value, lease_id lease);
operation remove(std::string key);
operation nested(transaction what);

/// If all comparisons hold, `then`, else `otherwise`: at one revision.
struct transaction {
  std::vector<comparison> when{};
  std::vector<operation> then{}, otherwise{};
};

struct outcome;
struct step_answer {
  std::vector<key_value> found{};
  std::int64_t count = 0;  ///< get: of all that match, not only those listed; remove: how many
  bool more = false;
  std::vector<outcome> inner;
};
struct outcome {
  bool met = false;  ///< the comparisons held
  revision at = 0;
  std::vector<step_answer> answers{};
};

/// A key is gone.
struct deletion {
  std::string key{};
  revision at = 0;
};

struct granted_lease {
  lease_id id = 0;
  std::int64_t seconds = 0;
};

}  // namespace interlock::inline v1::etcd_store
