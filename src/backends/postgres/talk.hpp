// SPDX-License-Identifier: MIT
#pragma once

#include "backends/postgres/handle.hpp"

#include <interlock/backend.hpp>
#include <interlock/result.hpp>

#include <atomic>
#include <string>
#include <vector>

namespace interlock::inline v1::postgres_store {

/// Statements one after another, each waited for: what is needed before a connection can be shared. Ends early when it
/// is cancelled or its time is over.
class talk {
 public:
  talk(PGconn* with, instant until, const std::atomic<bool>& cancelled)
      : with_(with), until_(until), cancelled_(cancelled) {}

  result<void> connect();
  /// Any SQL, also several statements: they are one transaction. The last result.
  result<pg_rows> say(const std::string& text);
  result<pg_rows> ask(const std::string& text, const std::vector<std::string>& parameters);
  result<void> prepare(const char* name, const std::string& text, const std::vector<Oid>& types);
  /// Of the last error; empty: it was not the server's.
  [[nodiscard]] const std::string& state() const noexcept { return state_; }

 private:
  result<void> await(bool writing);
  result<pg_rows> finish(bool sent);
  [[nodiscard]] failure lost();

  PGconn* with_;
  instant until_;
  const std::atomic<bool>& cancelled_;
  std::string state_;
};

}  // namespace interlock::inline v1::postgres_store
