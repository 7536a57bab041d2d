// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/postgres_server.hpp"

#include "support/ready_data.hpp"

#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace interlock::test_support {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr auto account = "postgres";

// Debian keeps the programs of each version in a folder of their own.
fs::path programs() {
  const fs::path all = "/usr/lib/postgresql";
  fs::path newest;
  if (fs::exists(all))
    for (const auto& one : fs::directory_iterator(all))
      if (fs::exists(one.path() / "bin/initdb") && one.path() > newest) newest = one.path();
  if (newest.empty())
    throw std::runtime_error(
        "PostgreSQL is not installed, and this test needs it: ./dev test installs what is missing");
  return newest / "bin";
}

bool as_root() { return geteuid() == 0; }

// To whom the server runs as.
void give_away(const fs::path& what) {
  if (!as_root()) return;
  const auto* const who = getpwnam(account);
  if (who == nullptr) throw std::runtime_error("there is no user postgres");
  if (chown(what.c_str(), who->pw_uid, who->pw_gid) != 0)
    throw std::system_error(errno, std::generic_category(), "chown " + what.string());
}

std::vector<std::string> as_account(std::vector<std::string> words) {
  if (!as_root()) return words;
  std::vector<std::string> out{"--reuid", account, "--regid", account, "--clear-groups", "--pdeathsig", "KILL"};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

void run(const std::string& program, const std::vector<std::string>& words, const fs::path& log) {
  auto line = program;
  for (const auto& one : words) line += " '" + one + "'";
  line += " >>'" + log.string() + "' 2>&1 </dev/null";
  if (std::system(line.c_str()) == 0) return;
  std::ifstream said(log);
  throw std::runtime_error(line + " failed:\n" + std::string(std::istreambuf_iterator<char>(said), {}));
}

}  // namespace

postgres_server::postgres_server(postgres_options options)
    : options_(std::move(options)), process_(as_root() ? "setpriv" : "env") {
  make_data();
  start();
}

void postgres_server::make_data() {
  const auto& folder = process_.folder();
  const auto data = folder / "data";
  fs::create_directory(data);
  fs::permissions(data, fs::perms::owner_all);
  for (const auto& one : {folder, data}) give_away(one);
  const auto program = as_root() ? "cd / && setpriv" : "env";
  if (!options_.copy_of.empty()) {
    run(program,
        as_account({(programs() / "pg_basebackup").string(), "-d", options_.copy_of, "-D", data.string(), "-R", "-X",
                    "stream", "-c", "fast", "--no-sync"}),
        folder / "making");
    return;
  }
  have_data("postgres-" + programs().parent_path().filename().string() + (as_root() ? "-root" : ""), data, [&] {
    run(program,
        as_account({(programs() / "initdb").string(), "-D", data.string(), "-A", "trust", "-U", "postgres", "--no-sync",
                    "-E", "UTF8", "--locale=C"}),
        folder / "making");
  });
}

void postgres_server::start() {
  const auto& folder = process_.folder();
  std::vector<std::string> words{(programs() / "postgres").string(),
                                 "-D",
                                 (folder / "data").string(),
                                 "-p",
                                 std::to_string(port()),
                                 "-k",
                                 folder.string(),
                                 "-c",
                                 "listen_addresses=127.0.0.1",
                                 "-c",
                                 "shared_buffers=16MB",
                                 "-c",
                                 "dynamic_shared_memory_type=mmap",  // in the data's folder, which goes with the test
                                 "-c",
                                 options_.durable ? "fsync=on" : "fsync=off"};
  if (options_.shown != nullptr) {
    copy_shown(*options_.shown);
    words.insert(words.end(), {"-c", "ssl=on", "-c", "ssl_cert_file=" + shown().file.string(), "-c",
                               "ssl_key_file=" + shown().key.string()});
  }
  for (const auto& one : options_.settings) {
    words.emplace_back("-c");
    words.push_back(one);
  }
  words.insert(words.begin(), options_.environment.begin(), options_.environment.end());
  if (as_root()) words.insert(words.begin(), "env");
  process_.start(as_account(std::move(words)));
  await_ready();
}

certificate postgres_server::shown() const {
  return {.file = process_.folder() / "shown.pem", .key = process_.folder() / "shown.key"};
}

void postgres_server::copy_shown(const certificate& what) const {
  copy_certificate(what, shown());
  for (const auto& one : {shown().file, shown().key}) {
    fs::permissions(one, fs::perms::owner_read | fs::perms::owner_write);
    give_away(one);
  }
}

void postgres_server::show(const certificate& what) const {
  copy_shown(what);
  const auto loaded = [&] { return value("select pg_conf_load_time()"); };
  const auto before = loaded();
  command("select pg_reload_conf()");
  while (loaded() == before) std::this_thread::sleep_for(5ms);
}

void postgres_server::await_ready() {
  process_.await("ready", [&] { return value("select 1") == "1"; });
}

std::string postgres_server::url_at(int port, const std::string& query, const std::string& user) {
  return "postgres://" + user + "@127.0.0.1:" + std::to_string(port) + "/postgres" + (query.empty() ? "" : "?" + query);
}

std::string postgres_server::unix_url(const std::string& query) const {
  return "postgres://postgres@/postgres?host=" + process_.folder().string() + "&port=" + std::to_string(port()) +
         (query.empty() ? "" : "&" + query);
}

std::string postgres_server::conninfo() const {
  return "host=127.0.0.1 port=" + std::to_string(port()) + " user=postgres dbname=postgres connect_timeout=10";
}

postgres_rows postgres_server::command(const std::string& text) const {
  return postgres_peek(conninfo()).command(text);
}

std::string postgres_server::value(const std::string& text) const { return postgres_peek(conninfo()).value(text); }

// Each has a process group of its own.
std::vector<pid_t> postgres_server::sessions() const {
  const auto self = std::to_string(process_.pid());
  std::ifstream list("/proc/" + self + "/task/" + self + "/children");
  std::vector<pid_t> out;
  for (pid_t one = 0; list >> one;) out.push_back(one);
  return out;
}

void postgres_server::freeze() {
  process_.freeze();
  for (const auto one : sessions()) ::kill(one, SIGSTOP);
}

void postgres_server::thaw() {
  for (const auto one : sessions()) ::kill(one, SIGCONT);
  process_.thaw();
}

void postgres_server::kill() {
  const auto all = sessions();
  process_.kill();
  for (const auto one : all) ::kill(one, SIGKILL);
  for (const auto one : all)  // they are nobody's children now; a new server must not meet them
    for (int i = 0; i < 2000 && ::kill(one, 0) == 0; ++i) std::this_thread::sleep_for(1ms);
}

void postgres_server::restart() {
  kill();
  start();
}

postgres_peek::postgres_peek(const std::string& conninfo) : connection_(PQconnectdb(conninfo.c_str())) {
  auto* const made = static_cast<PGconn*>(connection_);
  if (PQstatus(made) == CONNECTION_OK) return;
  const std::string why = PQerrorMessage(made);
  PQfinish(made);
  throw std::runtime_error(why);
}

postgres_peek::~postgres_peek() { PQfinish(static_cast<PGconn*>(connection_)); }

postgres_rows postgres_peek::command(const std::string& text) {
  const std::unique_ptr<PGresult, void (*)(PGresult*)> got(PQexec(static_cast<PGconn*>(connection_), text.c_str()),
                                                           PQclear);
  const auto status = PQresultStatus(got.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
    throw std::runtime_error(text + ": " + PQresultErrorMessage(got.get()));
  postgres_rows out(static_cast<std::size_t>(PQntuples(got.get())));
  for (std::size_t row = 0; row < out.size(); ++row)
    for (int column = 0; column < PQnfields(got.get()); ++column)
      out[row].emplace_back(PQgetvalue(got.get(), static_cast<int>(row), column));
  return out;
}

std::string postgres_peek::value(const std::string& text) {
  const auto rows = command(text);
  if (rows.size() != 1 || rows[0].size() != 1) throw std::runtime_error(text + ": not one value");
  return rows[0][0];
}

}  // namespace interlock::test_support

#endif
