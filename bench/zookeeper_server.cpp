// SPDX-License-Identifier: MIT
#include "zookeeper_server.hpp"

#include "cases.hpp"
#include "tcp.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace bench {
namespace {

constexpr double zookeeper_patience = 60;
constexpr const char* zookeeper_program = "/usr/share/java/zookeeper.jar";  // where Debian has it

// In the child: only what is safe between fork and exec.
[[noreturn]] void become(std::vector<char*>& words, const std::string& log, const cpu_set_t* cores) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (cores != nullptr) ::sched_setaffinity(0, sizeof *cores, cores);
  if (std::freopen(log.c_str(), "a", stdout) == nullptr || ::dup2(1, 2) < 0) ::_exit(127);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

}  // namespace

std::string why_no_zookeeper() {
  if (!with_zookeeper) return "this build has no ZooKeeper store";
  if (!std::filesystem::exists(memory_folder)) return "there is no file system in memory on this machine";
  return can_run("java") && std::filesystem::exists(zookeeper_program) ? ""
                                                                       : "there is no ZooKeeper server on this machine";
}

zookeeper_server::zookeeper_server(std::optional<unsigned> core) : folder_(memory_folder), port_(listener().port()) {
  const auto config = folder_.file("zoo.cfg");
  std::ofstream(config) << "tickTime=2000\nmaxClientCnxns=0\n4lw.commands.whitelist=*\nadmin.enableServer=false\n"
                           "clientPortAddress=127.0.0.1\nclientPort="
                        << port_ << "\ndataDir=" << folder_.file("data") << "\n";
  std::vector<std::string> words{"java",
                                 "-Xmx512m",
                                 "-cp",
                                 zookeeper_program,
                                 "-Dzookeeper.extendedTypesEnabled=true",
                                 "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                                 config};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core.value_or(0), &cores);
  const auto log = folder_.file("log");
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) become(arguments, log, core ? &cores : nullptr);
  for (const double end = now() + zookeeper_patience;
       !answers(port_) || says("srvr").find("Mode:") == std::string::npos; sleep_for(0.05))
    if (now() > end) throw std::runtime_error("the ZooKeeper server does not come up");
}

zookeeper_server::~zookeeper_server() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

std::string zookeeper_server::says(const std::string& word) const {
  const auto socket = connect_to(port_);
  const timeval most{.tv_sec = 1, .tv_usec = 0};  // a server that is just starting accepts, and may never answer
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  if (::send(socket.fd(), word.data(), word.size(), MSG_NOSIGNAL) < 0) return {};
  std::string out;
  std::array<char, 4096> some{};
  for (ssize_t got = 0; (got = ::recv(socket.fd(), some.data(), some.size(), 0)) > 0;)
    out.append(some.data(), static_cast<std::size_t>(got));
  return out;
}

double zookeeper_server::requests() {
  const auto said = says("mntr");
  const std::string key = "zk_packets_received\t";
  const auto at = said.find(key);
  if (at == said.npos) throw std::runtime_error("the ZooKeeper server does not count its requests");
  return std::stod(said.substr(at + key.size())) - ++asked_;
}

}  // namespace bench
