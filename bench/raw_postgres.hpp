// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/handle.hpp"
#include "backends/postgres/wire.hpp"

#include <string>

namespace bench {

/// What the store asks for an acquire and a release, prepared, on a connection of its own and waited for.
class raw_postgres {
 public:
  raw_postgres(const std::string& conninfo, std::string name);
  void acquire();
  void release();

 private:
  void ask(const interlock::sql::question& what);

  interlock::postgres_store::pg_handle with_;
  interlock::postgres_store::ask_parameters parameters_;
  std::string name_;
  interlock::claim claim_;
  std::uint64_t turn_ = 0;
};

}  // namespace bench
