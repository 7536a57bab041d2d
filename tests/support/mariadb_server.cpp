// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_MYSQL

#include "support/mariadb_server.hpp"

#include "support/ready_data.hpp"

#include <mysql.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace interlock::test_support {

namespace fs = std::filesystem;

namespace {

// Root's server asks nobody's permission to be run as root.
std::string who_runs_it() { return geteuid() == 0 ? "--user=root" : "--skip-symbolic-links"; }

// Making the data takes half a second there, and ten times as long on a disk.
fs::path memory() { return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path(); }

// In Debian it is in a folder that is on nobody's PATH but root's.
std::string program() { return fs::exists("/usr/sbin/mariadbd") ? "/usr/sbin/mariadbd" : "/usr/bin/mariadbd"; }

void run(const std::string& line, const fs::path& log) {
  if (std::system((line + " >>'" + log.string() + "' 2>&1 </dev/null").c_str()) == 0) return;
  std::ifstream said(log);
  throw std::runtime_error(line + " failed:\n" + std::string(std::istreambuf_iterator<char>(said), {}));
}

}  // namespace

mariadb_server::mariadb_server(mariadb_options options)
    : data_("mariadb", memory()), options_(std::move(options)), process_("env") {
  if (options_.folder.empty()) options_.folder = (data_.path() / "data").string();
  make_data();
  start();
}

void mariadb_server::make_data() {
  const auto build = fs::last_write_time(program()).time_since_epoch().count();
  have_data("mariadb-" + std::to_string(build), options_.folder, [&] {
    run("mariadb-install-db --no-defaults " + who_runs_it() + " --datadir='" + options_.folder + "' --tmpdir='" +
            process_.folder().string() +
            "' --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve "
            "--innodb-log-file-size=8M --innodb-flush-method=nosync",
        process_.folder() / "making");
  });
}

void mariadb_server::start() {
  std::vector<std::string> words{program(),
                                 "--no-defaults",
                                 who_runs_it(),
                                 "--datadir=" + options_.folder,
                                 "--tmpdir=" + process_.folder().string(),  // a server that starts clears it up
                                 "--socket=" + socket(),
                                 "--pid-file=" + (process_.folder() / "pid").string(),
                                 "--bind-address=127.0.0.1",
                                 "--port=" + std::to_string(port()),
                                 "--skip-log-bin",
                                 "--skip-name-resolve",
                                 "--innodb-buffer-pool-size=32M",
                                 "--innodb-log-file-size=8M",
                                 "--max-connections=300"};
  if (options_.durable)
    words.emplace_back("--innodb-flush-log-at-trx-commit=1");
  else
    words.insert(words.end(), {"--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync"});
  if (options_.shown != nullptr) {
    copy_certificate(*options_.shown, shown());
    words.insert(words.end(), {"--ssl-cert=" + shown().file.string(), "--ssl-key=" + shown().key.string()});
  }
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  words.insert(words.begin(), options_.environment.begin(), options_.environment.end());
  process_.start(std::move(words));
  process_.await("ready", [&] { return value("select 1") == "1"; });
}

void mariadb_server::restart() {
  process_.kill();
  start();
}

std::string mariadb_server::url_at(int port, const std::string& query, const std::string& user) {
  return "mysql://" + user + "@127.0.0.1:" + std::to_string(port) + "/interlock" + (query.empty() ? "" : "?" + query);
}

std::string mariadb_server::unix_url(const std::string& query) const {
  return "mariadb://root@/interlock?socket=" + socket() + (query.empty() ? "" : "&" + query);
}

mariadb_rows mariadb_server::command(const std::string& text) const { return mariadb_peek(socket()).command(text); }

std::string mariadb_server::value(const std::string& text) const { return mariadb_peek(socket()).value(text); }

certificate mariadb_server::shown() const {
  return {.file = process_.folder() / "shown.pem", .key = process_.folder() / "shown.key"};
}

void mariadb_server::show(const certificate& what) const {
  copy_certificate(what, shown());
  command("flush ssl");
}

void mariadb_server::follow(const mariadb_server& primary) const {
  command("change master to master_host = '127.0.0.1', master_port = " + std::to_string(primary.port()) +
          ", master_user = 'root', master_use_gtid = no; start slave");
}

void mariadb_server::end_sessions() const {
  mariadb_peek sql(socket());
  for (const auto& row : sql.command("select id from information_schema.processlist where id <> connection_id() and "
                                     "host like '127.%'"))
    sql.command("kill " + row[0]);
}

mariadb_peek::mariadb_peek(const std::string& socket) {
  auto* const made = mysql_init(nullptr);
  if (mysql_real_connect(made, nullptr, "root", nullptr, nullptr, 0, socket.c_str(), CLIENT_MULTI_STATEMENTS) !=
      nullptr) {
    connection_ = made;
    return;
  }
  const std::string why = mysql_error(made);
  mysql_close(made);
  throw std::runtime_error(why);
}

mariadb_peek::~mariadb_peek() {
  if (connection_ != nullptr) mysql_close(static_cast<MYSQL*>(connection_));
}

mariadb_rows mariadb_peek::command(const std::string& text) {
  auto* const with = static_cast<MYSQL*>(connection_);
  mariadb_rows out;
  const auto check = [&] {
    if (mysql_errno(with) != 0) throw std::runtime_error(text + ": " + mysql_error(with));
  };
  int more = mysql_real_query(with, text.data(), text.size());
  for (check(); more == 0; more = mysql_next_result(with)) {
    const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> got(mysql_store_result(with), mysql_free_result);
    check();
    out.clear();
    while (auto* const row = got ? mysql_fetch_row(got.get()) : nullptr) {
      const auto* const lengths = mysql_fetch_lengths(got.get());
      auto& one = out.emplace_back();
      for (unsigned i = 0; i < mysql_num_fields(got.get()); ++i)
        one.emplace_back(row[i] == nullptr ? "" : row[i], row[i] == nullptr ? 0 : lengths[i]);
    }
  }
  check();
  return out;
}

std::string mariadb_peek::value(const std::string& text) {
  const auto rows = command(text);
  if (rows.size() != 1 || rows[0].size() != 1) throw std::runtime_error(text + ": not one value");
  return rows[0][0];
}

}  // namespace interlock::test_support

#endif
