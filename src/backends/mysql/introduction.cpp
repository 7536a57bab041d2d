// SPDX-License-Identifier: MIT
#include "backends/mysql/introduction.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

namespace interlock::inline v1::mysql_store {
namespace {

constexpr unsigned long oldest_maria = 100500, oldest_mysql = 80029;  // create procedure if not exists

using settings_found = std::map<std::string, std::string>;

// SHOW gives what there is, and no error for what there is not.
result<void> read_into(settings_found& out, talk& to, const std::string& what, const std::string& names) {
  const auto got = to.say("show global " + what + " where variable_name in (" + names + ")");
  if (!got) return got.error();
  for (const auto& row : *got) {
    auto name = row.at(0);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    out[name] = row.at(1);
  }
  return {};
}

bool is_on(const std::string& value) { return value == "ON" || value == "1"; }

// So that a connection that says nothing more is noticed in the time a request has, also while nobody asks.
void keep_alive(int socket, milliseconds timeout) {
  const auto set = [&](int level, int name, int value) { ::setsockopt(socket, level, name, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(timeout.count()));
}

}  // namespace

result<my_handle> begin(const mysql_settings& settings, bool by_tcp) {
  my_handle out(mysql_init(nullptr));
  if (!out) return failure(errc::unavailable, "out of memory");
  auto* const with = out.get();
  mysql_options(with, MYSQL_OPT_NONBLOCK, nullptr);
  mysql_options(with, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  if (by_tcp) {  // also to "localhost", which would mean the unix socket
    const unsigned protocol = MYSQL_PROTOCOL_TCP;
    mysql_options(with, MYSQL_OPT_PROTOCOL, &protocol);
  }
  if (settings.tls != mysql_settings::encryption::none) {
    const my_bool yes = 1, verify = settings.tls == mysql_settings::encryption::verified ? 1 : 0;
    mysql_options(with, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(with, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (!settings.ca.empty()) mysql_options(with, MYSQL_OPT_SSL_CA, settings.ca.c_str());
    if (!settings.certificate.empty()) mysql_options(with, MYSQL_OPT_SSL_CERT, settings.certificate.c_str());
    if (!settings.key.empty()) mysql_options(with, MYSQL_OPT_SSL_KEY, settings.key.c_str());
  }
  mysql_optionsv(with, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "interlock");
  return out;
}

// The library goes on in the clear with a server that has no TLS, unless certificates are to be verified.
result<void> reach(talk& to, MYSQL* with, const mysql_settings& settings,
                   const std::pair<std::string, std::uint16_t>& host) {
  if (auto up = to.connect(settings, host); !up) return up;
  if (settings.tls != mysql_settings::encryption::none && mysql_get_ssl_cipher(with) == nullptr)
    return failure(errc::unavailable, "the server does not encrypt, and sslmode asks for it");
  return {};
}

result<void> set_up(talk& to, MYSQL* with, milliseconds timeout, std::chrono::seconds silence) {
  keep_alive(mysql_get_socket(with), timeout);
  const auto wait = std::to_string(std::max<std::int64_t>(1, timeout.count() / 4000));
  const auto done =
      to.say("set session autocommit = 1, completion_type = 0, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', "
             "time_zone = '+00:00', innodb_lock_wait_timeout = " +
             wait + ", lock_wait_timeout = " + wait + ", wait_timeout = " + std::to_string(silence.count()));
  if (!done) return done.error();
  return {};
}

result<server_facts> introduce(talk& to, MYSQL* with, const server_facts& before) {
  settings_found has;
  if (auto read = read_into(has, to, "variables",
                            "'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'read_only', "
                            "'super_read_only', 'wsrep_on', 'hostname', 'port', 'server_uuid', 'server_uid'");
      !read)
    return read.error();
  if (auto read = read_into(has, to, "status",
                            "'uptime', 'slaves_connected', 'slave_running', 'rpl_semi_sync_master_status', "
                            "'rpl_semi_sync_source_status'");
      !read)
    return read.error();
  const auto row = to.say("select unix_timestamp(), connection_id(), "
                          "(select host from information_schema.processlist where id = connection_id())");
  if (!row) return row.error();

  server_facts out;
  out.version = mysql_get_server_version(with);
  out.maria = mariadb_connection(with) != 0;
  out.started = std::atoll(row->at(0).at(0).c_str()) - std::atoll(has["uptime"].c_str());
  out.connection = std::strtoull(row->at(0).at(1).c_str(), nullptr, 10);
  out.seen_from = row->at(0).at(2);
  out.flush_log = has["innodb_flush_log_at_trx_commit"];
  out.log_bin = has["log_bin"];
  out.sync_binlog = has["sync_binlog"];
  out.replicas = std::atoll(has["slaves_connected"].c_str());
  out.waits_for_replicas = is_on(has["rpl_semi_sync_master_status"]) || is_on(has["rpl_semi_sync_source_status"]);
  out.is_replica = is_on(has["slave_running"]);
  out.read_only = is_on(has["read_only"]) || is_on(has["super_read_only"]);
  out.galera = is_on(has["wsrep_on"]);
  const char* const cipher = mysql_get_ssl_cipher(with);
  out.cipher = cipher == nullptr ? "" : cipher;
  out.by_socket = with->unix_socket != nullptr;
  out.pooled = mysql_thread_id(with) != (out.connection & 0xffff'ffffU);  // a greeting has no room for more
  // The start is known to the second; connections are counted from each start.
  const auto place = has["hostname"] + ' ' + has["port"] + ' ' + has["server_uuid"] + has["server_uid"] + ' ';
  const bool same = before.run.starts_with(place) && std::abs(before.started - out.started) <= 1 &&
                    (out.pooled || before.connection < out.connection);
  out.run = same ? before.run : place + std::to_string(out.started) + ' ' + std::to_string(out.connection);
  if (out.version < (out.maria ? oldest_maria : oldest_mysql))
    return failure(errc::unsupported,
                   std::string("MariaDB 10.5 or MySQL 8.0.29 is the oldest that will do, and this is ") +
                       mysql_get_server_info(with));
  return out;
}

}  // namespace interlock::inline v1::mysql_store
