// SPDX-License-Identifier: MIT
#pragma once

#if INTERLOCK_WITH_SQLITE

#include <sqlite3.h>

#include <string>
#include <vector>

namespace bench {

/// The statements that the SQLite store runs for an uncontended pair, taken down while it does and played back on its
/// own file with nothing around them: what is left between this and a pair is the engine's.
class recorded_pair {
 public:
  explicit recorded_pair(const std::string& file);
  recorded_pair(const recorded_pair&) = delete;
  recorded_pair& operator=(const recorded_pair&) = delete;
  ~recorded_pair();
  void play();
  [[nodiscard]] std::size_t length() const { return statements_.size(); }

 private:
  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
};

}  // namespace bench

#endif
