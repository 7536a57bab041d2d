// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/handle.hpp"
#include "backends/mysql/wire.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace bench {

/// What the store asks for an acquire and a release, prepared, on a connection of its own and waited for.
class raw_mariadb {
 public:
  raw_mariadb(std::uint16_t port, std::string name);
  void acquire();
  void release();

 private:
  void ask(const interlock::sql::question& what);

  interlock::mysql_store::my_handle with_;
  interlock::mysql_store::my_statement ask_;
  interlock::mysql_store::ask_parameters parameters_;
  std::string name_;
  interlock::claim claim_;
  std::uint64_t turn_ = 0;
  std::array<char, 256> reply_{};
};

/// GET_LOCK and RELEASE_LOCK, prepared.
class raw_user_lock {
 public:
  explicit raw_user_lock(std::uint16_t port);
  void pair();

 private:
  void ask(MYSQL_STMT* statement);

  interlock::mysql_store::my_handle with_;
  interlock::mysql_store::my_statement lock_, unlock_;
  std::string name_ = "floor";
};

}  // namespace bench
