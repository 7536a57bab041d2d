// SPDX-License-Identifier: MIT
#if INTERLOCK_WITH_MYSQL

#include "raw_mariadb.hpp"

#include "backends/sql/objects.hpp"

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace bench {

using namespace interlock;
using namespace interlock::mysql_store;

namespace {

my_handle connected(std::uint16_t port) {
  my_handle out(mysql_init(nullptr));
  if (mysql_real_connect(out.get(), "127.0.0.1", "root", nullptr, nullptr, port, nullptr, CLIENT_MULTI_RESULTS) ==
      nullptr)
    throw std::runtime_error(mysql_error(out.get()));
  return out;
}

my_statement prepared(MYSQL* with, const std::string& text) {
  my_statement out(mysql_stmt_init(with));
  if (mysql_stmt_prepare(out.get(), text.data(), text.size()) != 0)
    throw std::runtime_error(mysql_stmt_error(out.get()));
  return out;
}

}  // namespace

raw_mariadb::raw_mariadb(std::uint16_t port, std::string name) : with_(connected(port)), name_(std::move(name)) {
  ask_ = prepared(with_.get(), sql::filled_in(ask_text, {.quote = '`'}));
  claim_.name = name_;
  claim_.lease = std::chrono::seconds(30);
  claim_.wait_lease = std::chrono::seconds(10);
}

void raw_mariadb::ask(const sql::question& what) {
  const std::array<const sql::question*, 1> all{&what};
  parameters_.write(all, "1\nhost\nprogram\n");
  mysql_stmt_bind_param(ask_.get(), parameters_.binds());
  if (mysql_stmt_execute(ask_.get()) != 0) throw std::runtime_error(mysql_stmt_error(ask_.get()));
  MYSQL_BIND reply{};
  reply.buffer_type = MYSQL_TYPE_BLOB;
  reply.buffer = reply_.data();
  reply.buffer_length = reply_.size();
  mysql_stmt_bind_result(ask_.get(), &reply);
  mysql_stmt_store_result(ask_.get());
  mysql_stmt_fetch(ask_.get());
  while (mysql_stmt_next_result(ask_.get()) == 0) {
  }
  if (reply_[0] == '\0') throw std::runtime_error("no answer");
}

void raw_mariadb::acquire() {
  std::array<std::byte, 16> secret{};
  ++turn_;
  std::memcpy(secret.data(), &turn_, sizeof turn_);
  claim_.secret = claim_secret(secret);
  ask(sql::to_enter(claim_, entry::queue));
}

void raw_mariadb::release() { ask(sql::to_leave(claim_, finality::answered)); }

raw_user_lock::raw_user_lock(std::uint16_t port) : with_(connected(port)) {
  lock_ = prepared(with_.get(), "select get_lock(?, 0)");
  unlock_ = prepared(with_.get(), "select release_lock(?)");
}

void raw_user_lock::ask(MYSQL_STMT* statement) {
  MYSQL_BIND name{}, reply{};
  long long said = 0;
  name.buffer_type = MYSQL_TYPE_STRING;
  name.buffer = name_.data();
  name.buffer_length = name_.size();
  reply.buffer_type = MYSQL_TYPE_LONGLONG;
  reply.buffer = &said;
  mysql_stmt_bind_param(statement, &name);
  if (mysql_stmt_execute(statement) != 0) throw std::runtime_error(mysql_stmt_error(statement));
  mysql_stmt_bind_result(statement, &reply);
  mysql_stmt_store_result(statement);
  mysql_stmt_fetch(statement);
  mysql_stmt_free_result(statement);
  if (said != 1) throw std::runtime_error("not granted");
}

void raw_user_lock::pair() {
  ask(lock_.get());
  ask(unlock_.get());
}

}  // namespace bench

#endif
