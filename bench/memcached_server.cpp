// SPDX-License-Identifier: MIT
#include "memcached_server.hpp"

#include "cases.hpp"
#include "child_process.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <stdexcept>
#include <system_error>

namespace bench {
namespace {

constexpr double memcached_patience = 10;

}  // namespace

std::string why_no_memcached() {
  if (!with_memcached) return "this build has no Memcached store";
  return can_run("memcached") ? "" : "there is no memcached on this machine";
}

// One worker, as it has one client here.
memcached_server::memcached_server(const std::string& folder, std::optional<unsigned> core)
    : folder_(folder), port_(listener().port()) {
  process_ = start_program(
      {"memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", std::to_string(port_), "-U", "0", "-t", "1", "-m", "64"},
      folder_.file("log"), core);
  for (const double end = now() + memcached_patience; !answers(port_); sleep_for(0.01))
    if (now() > end) throw std::runtime_error("memcached does not come up");
}

memcached_server::~memcached_server() {
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

raw_memcached::raw_memcached(std::uint16_t port) : socket_(connect_to(port)), in_(std::size_t{1} << 16, '\0') {}

std::string raw_memcached::acquire(const std::string& name) {
  const std::string owner(64, 'x');
  return "ms lock:" + name + " 64 c ME T31\r\n" + owner + "\r\nma token:" + name + " v N0 J1 D1\r\n";
}

std::string raw_memcached::release(const std::string& name, std::string_view cas) {
  return "md lock:" + name + " C" + std::string(cas) + "\r\n";
}

void raw_memcached::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) throw std::system_error(errno, std::generic_category(), "send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string_view raw_memcached::line() {
  for (;;) {
    const auto rest = std::string_view(in_).substr(begin_, end_ - begin_);
    if (const auto at = rest.find('\n'); at != rest.npos) {
      begin_ += at + 1;
      return rest.substr(0, at - 1);
    }
    in_.erase(0, begin_);
    end_ -= begin_;
    begin_ = 0;
    in_.resize(std::size_t{1} << 16);
    const auto got = ::recv(socket_.fd(), in_.data() + end_, in_.size() - end_, 0);
    if (got <= 0) throw std::system_error(errno, std::generic_category(), "recv");
    end_ += static_cast<std::size_t>(got);
  }
}

std::string_view raw_memcached::acquired() {
  const auto made = line();
  if (!made.starts_with("HD c")) throw std::runtime_error("memcached says " + std::string(made));
  cas_ = made.substr(4);
  static_cast<void>(line());  // VA, and the number
  static_cast<void>(line());
  return cas_;
}

void raw_memcached::released() {
  if (const auto said = line(); said != "HD") throw std::runtime_error("memcached says " + std::string(said));
}

}  // namespace bench
