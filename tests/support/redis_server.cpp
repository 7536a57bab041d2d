// SPDX-License-Identifier: MIT
#include "support/redis_server.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace interlock::test_support {
namespace {

constexpr auto observer = "interlock_observer";

std::string with_query(std::string url, const std::string& query) {
  return query.empty() ? url : std::move(url) + "?" + query;
}

// Of lines "name:value"; others are skipped.
std::map<std::string, std::string> pairs_of(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const auto colon = line.find(':');
    if (colon != std::string::npos) out[line.substr(0, colon)] = line.substr(colon + 1);
  }
  return out;
}

// Of "calls=12,usec=34,usec_per_call=2.83".
std::int64_t number_after(const std::string& text, const std::string& name) {
  const auto at = ("," + text).find("," + name + "=");
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + name.size() + 1));
}

}  // namespace

redis_server::redis_server(redis_options options)
    : options_(std::move(options)), process_(options_.environment.empty() ? options_.program : "env") {
  if (options_.tls) tls_port_.emplace();
  for (int tries = 1; !start(); ++tries) {  // a stranger has taken a port that was free just now
    if (tries == 5) throw std::runtime_error("no port for a Redis server:\n" + process_.log());
    port_ = reserved_port();
    if (tls_port_) tls_port_.emplace();
  }
}

bool redis_server::start() {
  write_config();
  auto arguments = options_.environment;
  if (!arguments.empty()) arguments.push_back(options_.program);
  arguments.push_back((process_.folder() / "redis.conf").string());
  process_.start(std::move(arguments));
  try {
    await_ready();
    return true;
  } catch (const std::runtime_error&) {
    if (process_.running() || process_.log().find("Address already in use") == std::string::npos) throw;
    return false;
  }
}

void redis_server::restart() {
  process_.restart();
  await_ready();
}

void redis_server::await_ready() {
  process_.await("ready", [&] {
    const auto said = ask({"PING"});
    return said == "PONG" || said.text.starts_with("MASTERDOWN");
  });
}

// In a file and not as arguments: Sentinel has the servers write their new roles there, for their next start.
void redis_server::write_config() const {
  std::ofstream file(process_.folder() / "redis.conf");
  file << config();
  if (!file.flush()) throw std::runtime_error("cannot write redis.conf");
}

std::string redis_server::config() const {
  std::ostringstream out;
  out << "bind 127.0.0.1\nport " << port() << "\ndir " << process_.folder().string() << "\nunixsocket "
      << socket().string() << "\nsave \"\"\nappendonly no\nenable-debug-command yes\nrepl-diskless-sync-delay 0\n";
  if (!options_.password.empty()) {
    out << "requirepass " << options_.password << "\nmasterauth " << options_.password << "\n";
  }
  out << "user " << observer << " on nopass ~* &* +@all\n";
  for (const auto& user : options_.users) out << "user " << user << "\n";
  if (options_.replica_of != 0) out << "replicaof 127.0.0.1 " << options_.replica_of << "\n";
  if (options_.tls) {
    out << "tls-port " << tls_port() << "\ntls-auth-clients optional\ntls-cert-file " << options_.tls->file.string()
        << "\ntls-key-file " << options_.tls->key.string() << "\ntls-ca-cert-file " << options_.tls->authority.string()
        << "\n";
  }
  for (const auto& line : options_.config) out << line << "\n";
  return out.str();
}

std::string redis_server::user_info() const { return options_.password.empty() ? "" : ":" + options_.password + "@"; }

std::string redis_server::url_at(int port, const std::string& query) const {
  return with_query("redis://" + user_info() + "127.0.0.1:" + std::to_string(port), query);
}

std::string redis_server::tls_url(const std::string& query) const {
  auto whole = query;
  if (options_.tls && query.find("tls_ca=") == query.npos) {
    whole += (query.empty() ? "tls_ca=" : "&tls_ca=") + options_.tls->authority.string();
  }
  return with_query("rediss://" + user_info() + "localhost:" + std::to_string(tls_port()), whole);
}

std::string redis_server::unix_url(const std::string& query) const {
  return with_query("redis+unix://" + user_info() + socket().string(), query);
}

redis_peek redis_server::connect() const {
  redis_peek peek(socket());
  peek.command({"AUTH", observer, ""});
  return peek;
}

std::map<std::string, std::string> redis_server::info(const std::string& section) const {
  return pairs_of(command({"INFO", section}).text);
}

std::map<std::string, redis_server::command_count> redis_server::commandstats() const {
  std::map<std::string, command_count> out;
  for (const auto& [name, value] : info("commandstats")) {
    const std::string prefix = "cmdstat_";
    if (!name.starts_with(prefix)) continue;
    out[name.substr(prefix.size())] = {number_after(value, "calls"), number_after(value, "usec")};
  }
  return out;
}

}  // namespace interlock::test_support
