// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/courier.hpp"
#include "backends/redis/native_keys.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace interlock::inline v1::redis_store::native {

/// One survey under way: first the names, from every master, then what there is to know about them, some at a time.
/// Lives as long as one of its questions is.
class survey_walk : public std::enable_shared_from_this<survey_walk> {
 public:
  survey_walk(courier& way, told keys, survey_query what, completion<survey_page> done);
  void begin();

 private:
  void scan(std::size_t master, std::string_view cursor);
  void scanned(std::size_t master, const result<reply>& said);
  void show_some();
  void shown(std::size_t index, const result<reply>& said);
  void round_over();
  void finish();
  void fail(const failure& why);

  courier& way_;
  const told keys_;
  const survey_query what_;
  const std::string pattern_;

  std::mutex mutex_;  // answers may come on several threads
  completion<survey_page> done_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;         // of names_, to be shown
  std::size_t under_way_ = 0;    // questions
  std::vector<lock_info> some_;  // as they were asked for; idle ones are empty
  survey_page page_;
};

}  // namespace interlock::inline v1::redis_store::native
