// SPDX-License-Identifier: MIT
#include "redis_server.hpp"

#include "cases.hpp"
#include "tcp.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace bench {
namespace {

constexpr double patience = 10;

// In the child: only what is safe between fork and exec.
[[noreturn]] void become(std::vector<char*>& words, const cpu_set_t* cores) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (cores != nullptr) ::sched_setaffinity(0, sizeof *cores, cores);
  ::execvp(words[0], words.data());
  ::_exit(127);
}

}  // namespace

std::string why_no_redis() {
  if (!with_redis) return "this build has no Redis store";
  return can_run("redis-server") ? "" : "there is no redis-server on this machine";
}

redis_server::redis_server(const std::string& folder, std::optional<unsigned> core)
    : folder_(folder), port_(listener().port()) {
  std::vector<std::string> words{"redis-server",
                                 "--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "no",
                                 "--dir",
                                 folder_.file("."),
                                 "--maxclients",
                                 "2000",
                                 "--logfile",
                                 folder_.file("log")};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core.value_or(0), &cores);
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (process_ == 0) become(arguments, core ? &cores : nullptr);
  for (const double end = now() + patience; !answers(port_); sleep_for(0.01))
    if (now() > end) throw std::runtime_error("redis-server does not come up");
}

redis_server::~redis_server() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void redis_server::freeze() const { ::kill(process_, SIGSTOP); }

void redis_server::thaw() const { ::kill(process_, SIGCONT); }

std::string redis_server::url(const std::string& options) const {
  return "redis://127.0.0.1:" + std::to_string(port_) + (options.empty() ? "" : "?" + options);
}

}  // namespace bench
