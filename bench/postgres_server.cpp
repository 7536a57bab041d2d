// SPDX-License-Identifier: MIT
#include "postgres_server.hpp"

#include "cases.hpp"
#include "tcp.hpp"

#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace bench {
namespace {

constexpr double patience = 20;
constexpr const char* account = "postgres";  // root is not allowed to run one

std::string programs() {
  std::string newest;
  const std::filesystem::path all = "/usr/lib/postgresql";
  if (std::filesystem::exists(all))
    for (const auto& one : std::filesystem::directory_iterator(all))
      if (std::filesystem::exists(one.path() / "bin/initdb")) newest = std::max(newest, one.path().string());
  return newest.empty() ? newest : newest + "/bin/";
}

std::vector<std::string> as_account(std::vector<std::string> words) {
  if (::geteuid() != 0) return words;
  words.insert(words.begin(),
               {"setpriv", "--reuid", account, "--regid", account, "--clear-groups", "--pdeathsig", "KILL"});
  return words;
}

pid_t start(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t made = ::fork();
  if (made < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (made > 0) return made;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::freopen(log.c_str(), "a", stdout) == nullptr || ::dup2(1, 2) < 0 || ::chdir("/") != 0) ::_exit(127);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

std::string why_no_postgres() {
  if (!with_postgres) return "this build has no PostgreSQL store";
  return programs().empty() ? "there is no PostgreSQL server on this machine" : "";
}

postgres_server::postgres_server(const std::string& folder) : folder_(folder), port_(listener().port()) {
  const auto place = folder_.file("."), data = folder_.file("data");
  if (::geteuid() == 0) {
    const auto* const who = ::getpwnam(account);
    if (who == nullptr || ::chown(place.c_str(), who->pw_uid, who->pw_gid) != 0)
      throw std::runtime_error("cannot give a folder to the user postgres");
  }
  const pid_t maker =
      start(as_account({programs() + "initdb", "-D", data, "-A", "trust", "-U", account, "-E", "UTF8", "--locale=C"}),
            folder_.file("making"));
  int status = 0;
  ::waitpid(maker, &status, 0);
  if (status != 0) throw std::runtime_error("initdb failed");
  process_ = start(as_account({programs() + "postgres", "-D", data, "-p", std::to_string(port_), "-k", place, "-c",
                               "listen_addresses=127.0.0.1", "-c", "max_connections=200"}),
                   folder_.file("log"));
  for (const double end = now() + patience; !answers(port_); sleep_for(0.02))
    if (now() > end) throw std::runtime_error("the PostgreSQL server does not come up");
  sleep_for(0.5);
}

postgres_server::~postgres_server() {
  ::kill(process_, SIGINT);  // its quick way to stop, which takes its sessions along
  ::waitpid(process_, nullptr, 0);
}

std::string postgres_server::url_at(std::uint16_t port) {
  return "postgres://postgres@127.0.0.1:" + std::to_string(port) + "/postgres?sslmode=disable";
}

std::string postgres_server::conninfo() const {
  return "host=127.0.0.1 user=postgres dbname=postgres sslmode=disable gssencmode=disable port=" +
         std::to_string(port_);
}

}  // namespace bench
