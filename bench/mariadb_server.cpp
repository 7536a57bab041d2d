// SPDX-License-Identifier: MIT
#include "mariadb_server.hpp"

#include "cases.hpp"
#include "child_process.hpp"
#include "tcp.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace bench {
namespace {

constexpr double mariadb_patience = 30;
constexpr const char* mariadb_program = "/usr/sbin/mariadbd";  // where Debian has it, which is on root's PATH only

std::string who_runs_it() { return ::geteuid() == 0 ? "--user=root" : "--skip-symbolic-links"; }

}  // namespace

std::string why_no_mariadb() {
  if (!with_mysql) return "this build has no MySQL store";
  return std::filesystem::exists(mariadb_program) && can_run("mariadb-install-db")
             ? ""
             : "there is no MariaDB server on this machine";
}

mariadb_server::mariadb_server(const std::string& folder) : folder_(folder), port_(listener().port()) {
  const auto data = "--datadir=" + folder_.file("data"), temporary = "--tmpdir=" + folder_.file(".");
  const pid_t maker = start_program({"mariadb-install-db", "--no-defaults", who_runs_it(), data, temporary,
                                     "--auth-root-authentication-method=normal", "--skip-test-db"},
                                    folder_.file("making"));
  int status = 0;
  ::waitpid(maker, &status, 0);
  if (status != 0) throw std::runtime_error("mariadb-install-db failed");
  process_ =
      start_program({mariadb_program, "--no-defaults", who_runs_it(), data, temporary, "--socket=" + folder_.file("s"),
                     "--pid-file=" + folder_.file("pid"), "--bind-address=127.0.0.1", "--port=" + std::to_string(port_),
                     "--skip-log-bin", "--skip-name-resolve"},
                    folder_.file("log"));
  for (const double end = now() + mariadb_patience; !answers(port_); sleep_for(0.02))
    if (now() > end) throw std::runtime_error("the MariaDB server does not come up");
}

mariadb_server::~mariadb_server() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace bench
