// SPDX-License-Identifier: MIT
#pragma once

#if INTERLOCK_WITH_SQLITE

#include "backends/sqlite/statements.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

/// The statements the SQLite store runs for an uncontended pair, its own texts on its own tables, with nothing around
/// them: what is left between this and a pair is the engine's.
class store_statements {
 public:
  explicit store_statements(const std::string& file);
  void pair(std::string_view name);

 private:
  using statement = interlock::sqlite_store::statement;
  /// Compiled, and with what it needs bound to it.
  statement& made(statement& one);
  void run(statement& one);
  void read(std::string_view name);
  void enter(std::string_view name);
  void leave(std::string_view name);

  std::unique_ptr<interlock::sqlite_store::connection> db_;
  interlock::sqlite_store::statements sql_;
  std::int64_t turn_ = 0;
};

}  // namespace bench

#endif
