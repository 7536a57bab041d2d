// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/handle.hpp"
#include "backends/postgres/wire.hpp"

#include <cstdint>
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

/// Two prepared statements: an advisory lock and its release.
class raw_session {
 public:
  explicit raw_session(const std::string& conninfo);
  void pair();

 private:
  void ask(const char* statement);
  interlock::postgres_store::pg_handle with_;
};

/// Listens on channels, and counts what it hears.
class raw_listener {
 public:
  explicit raw_listener(const std::string& conninfo) : with_(PQconnectdb(conninfo.c_str())) {}
  /// To all clients that wait for a lock.
  void listen_to_waiters();
  [[nodiscard]] std::uint64_t heard();

 private:
  interlock::postgres_store::pg_handle with_;
};

}  // namespace bench
