// SPDX-License-Identifier: MIT
#include "etcd_server.hpp"

#include "cases.hpp"
#include "tcp.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace bench {
namespace {

constexpr double etcd_patience = 20;

std::string place(const std::string& folder, etcd_server::keeps where) {
  return where == etcd_server::keeps::in_memory && std::filesystem::is_directory(memory_folder) ? memory_folder
                                                                                                : folder;
}

// In the child: only what is safe between fork and exec.
[[noreturn]] void become(std::vector<char*>& words, const char* log, const cpu_set_t* cores) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (cores != nullptr) ::sched_setaffinity(0, sizeof *cores, cores);
  if (std::freopen(log, "a", stderr) == nullptr) ::_exit(127);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

std::string fetch(std::uint16_t port, const std::string& path) {
  const auto socket = connect_to(port);
  const auto request = "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n";
  if (::send(socket.fd(), request.data(), request.size(), MSG_NOSIGNAL) < 0)
    throw std::system_error(errno, std::generic_category(), "send");
  std::string all;
  std::array<char, 1 << 16> some{};
  for (ssize_t count = 0; (count = ::recv(socket.fd(), some.data(), some.size(), 0)) > 0;)
    all.append(some.data(), static_cast<std::size_t>(count));
  return all;
}

}  // namespace

std::string why_no_etcd() {
  if (!with_etcd) return "this build has no etcd store";
  return can_run("etcd") ? "" : "there is no etcd on this machine";
}

etcd_server::etcd_server(const std::string& folder, keeps where, std::optional<unsigned> core)
    : folder_(place(folder, where)), port_(listener().port()), peers_(listener().port()) {
  const auto peers = "http://127.0.0.1:" + std::to_string(peers_);
  std::vector<std::string> words{"etcd",
                                 "--name=one",
                                 "--data-dir=" + folder_.file("data"),
                                 "--listen-client-urls=http://" + address(),
                                 "--advertise-client-urls=http://" + address(),
                                 "--listen-peer-urls=" + peers,
                                 "--initial-advertise-peer-urls=" + peers,
                                 "--initial-cluster=one=" + peers,
                                 "--logger=zap",
                                 "--log-level=error"};
  if (where == keeps::in_memory) words.emplace_back("--unsafe-no-fsync");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const auto log = folder_.file("log");
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core.value_or(0), &cores);
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) become(arguments, log.c_str(), core ? &cores : nullptr);
  for (const double end = now() + etcd_patience;
       !answers(port_) || fetch(port_, "/health").find("\"true\"") == std::string::npos; sleep_for(0.05))
    if (now() > end) throw std::runtime_error("etcd does not come up");
}

etcd_server::~etcd_server() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

double etcd_server::counted(std::initializer_list<std::string_view> words) const {
  double sum = 0;
  std::istringstream lines(fetch(port_, "/metrics"));
  for (std::string line; std::getline(lines, line);) {
    const bool all =
        std::ranges::all_of(words, [&](std::string_view word) { return line.find(word) != std::string::npos; });
    if (line.starts_with('#') || !all) continue;
    sum += std::stod(line.substr(line.find_last_of(' ')));
  }
  return sum;
}

}  // namespace bench
