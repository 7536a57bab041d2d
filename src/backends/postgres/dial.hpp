// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/handle.hpp"
#include "backends/postgres/settings.hpp"

#include "net/away.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace interlock::inline v1::postgres_store {

/// What was found out about the server when connecting.
struct server_facts {
  int version = 0;    ///< 150018
  std::string run{};  ///< changes with every restart and with the host
  int pid = 0;        ///< of the process that serves this connection
  std::string pid_since{};
  std::string fsync{}, synchronous_commit{}, standby_names{};
  std::int64_t standbys = 0;
};

/// Not strict: why. Empty: nothing against it.
std::string weak_points(const server_facts& found);

struct established {
  pg_handle connection{};
  server_facts facts{};
};

/// What a new connection is to be made ready for.
struct dial_plan {
  postgres_settings settings{};
  std::string channel{};    ///< to listen to; empty: none
  server_facts before{};    ///< of the connection that broke; its process is ended first, see docs/backends/postgres.md
  bool was_strict = false;  ///< it must still be
};

/// Makes connections, on a thread of its own: name lookup inside libpq cannot be told to wait elsewhere. Up to the
/// point where statements are prepared, so that what follows is one message each.
class dial {
 public:
  using handler = unique_function<void(result<established>)>;
  /// `done` is called on the loop, unless cancelled.
  void start(dial_plan plan, reactor& loop, handler done);
  void cancel() noexcept { away_.cancel(); }

 private:
  net::away<result<established>> away_;
};

/// Names of the prepared statements.
inline constexpr const char* ask_statement = "interlock_ask";
inline constexpr const char* survey_statement = "interlock_survey";
inline constexpr const char* tidy_statement = "interlock_tidy";

}  // namespace interlock::inline v1::postgres_store
