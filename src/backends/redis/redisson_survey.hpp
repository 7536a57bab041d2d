// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/courier.hpp"
#include "backends/redis/redisson_names.hpp"

#include <interlock/backend.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Who holds and who waits, read from a Redisson object and from what interlock keeps beside it. Holders are seen
/// whoever they are. Waiters are ours, and for a fair lock everybody's: Redisson's others wait where nobody can see
/// them.
namespace interlock::inline v1::redis_store::redisson {

/// One claim, and how to reach it.
struct seen_claim {
  claim_info info{};
  std::string owner{};   ///< field or permit
  std::string client{};  ///< of interlock; empty: it belongs to another library
  object what = object::lock;
  bool waits = false;
};
struct seen_name {
  lock_info info{};
  std::vector<seen_claim> claims{};
};

/// The question about one name, and what the answer says.
void ask_about(courier& way, std::string_view name, reply_handler done);
seen_name read_about(std::string_view name, const reply& from);

/// The names that interlock has used lately and somebody holds or waits for, page by page.
void survey_names(courier& way, survey_query what, completion<survey_page> done);

}  // namespace interlock::inline v1::redis_store::redisson
