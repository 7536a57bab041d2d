// SPDX-License-Identifier: MIT
#include "postgres_server.hpp"

#include "cases.hpp"
#include "child_process.hpp"
#include "tcp.hpp"

#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace bench {
namespace {

constexpr double postgres_patience = 20;
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
  const pid_t maker = start_program(
      as_account({programs() + "initdb", "-D", data, "-A", "trust", "-U", account, "-E", "UTF8", "--locale=C"}),
      folder_.file("making"));
  int status = 0;
  ::waitpid(maker, &status, 0);
  if (status != 0) throw std::runtime_error("initdb failed");
  process_ = start_program(
      as_account({programs() + "postgres", "-D", data, "-p", std::to_string(port_), "-k", place, "-c",
                  "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "dynamic_shared_memory_type=mmap"}),
      folder_.file("log"));
  for (const double end = now() + postgres_patience; !answers(port_); sleep_for(0.02))
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
