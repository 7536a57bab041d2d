// SPDX-License-Identifier: MIT
#include "redis_server.hpp"

#include "cases.hpp"
#include "child_process.hpp"
#include "tcp.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr double redis_patience = 10;

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
  process_ = start_program(std::move(words), folder_.file("said"), core);
  for (const double end = now() + redis_patience; !answers(port_); sleep_for(0.01))
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
