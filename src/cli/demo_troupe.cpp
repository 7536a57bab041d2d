// SPDX-License-Identifier: MIT
#include "cli/demo_troupe.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <thread>
#include <utility>

namespace interlock::cli::demo {
namespace {

volatile std::sig_atomic_t caught = 0;

[[noreturn]] void fail(const char* doing) { throw std::system_error(errno, std::generic_category(), doing); }

// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(const char* program, char* const* words, int socket, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody outlives the demo, also if that is killed
  if (::getppid() != parent) ::_exit(1);
  ::dup2(socket, STDIN_FILENO);
  ::dup2(socket, STDOUT_FILENO);
  ::execv(program, words);
  ::_exit(127);
}

/// In short turns, so that a signal that arrives just before poll() is noticed all the same.
bool readable(int socket, seconds wait) {
  const auto until = boot_clock::now() + std::chrono::duration_cast<instant::duration>(wait);
  for (;;) {
    orderly_end::check();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - boot_clock::now()).count();
    pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
    const auto ready = ::poll(&one, 1, static_cast<int>(std::clamp<long>(left, 0, 50)));
    if (ready < 0 && errno != EINTR) fail("poll");
    if (ready > 0 || left <= 0) return ready > 0;
  }
}

}  // namespace

orderly_end::orderly_end() {
  caught = 0;
  struct sigaction note {};
  note.sa_handler = [](int number) { caught = number; };
  for (std::size_t i = 0; i < signals_.size(); ++i) ::sigaction(signals_[i], &note, &before_[i]);
}

orderly_end::~orderly_end() {
  for (std::size_t i = 0; i < signals_.size(); ++i) ::sigaction(signals_[i], &before_[i], nullptr);
}

void orderly_end::check() {
  if (caught != 0) throw interrupted(caught);
}

void rest(seconds time) {
  const auto until = boot_clock::now() + std::chrono::duration_cast<instant::duration>(time);
  do {
    orderly_end::check();
    std::this_thread::sleep_for(std::min<instant::duration>(until - boot_clock::now(), std::chrono::milliseconds{50}));
  } while (boot_clock::now() < until);
}

workshop::workshop() {
  auto pattern = (std::filesystem::temp_directory_path() / "interlock-demo-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail(pattern.c_str());
  folder_ = pattern;
}

workshop::~workshop() {
  std::error_code why;
  std::filesystem::remove_all(folder_, why);
  if (why) std::fprintf(stderr, "interlock demo: %s is left behind: %s\n", folder_.c_str(), why.message().c_str());
}

actor::actor(const std::string& program, std::string name, const std::vector<std::string>& role)
    : name_(std::move(name)) {
  std::vector<std::string> words{"interlock", "demo-actor"};
  words.insert(words.end(), role.begin(), role.end());
  std::vector<char*> raw;
  for (auto& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);

  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
  const auto parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(program.c_str(), raw.data(), ends[1], parent);
  ::close(ends[1]);
  socket_ = ends[0];
  if (pid_ < 0) fail("fork");
}

actor::actor(actor&& other) noexcept
    : name_(std::move(other.name_)),
      heard_(std::move(other.heard_)),
      pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)) {}

actor::~actor() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) ::close(socket_);
}

void actor::tell(std::string_view word) {
  const auto text = std::string{word} + '\n';
  if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error(name_ + " does not listen any more");
}

std::optional<line> actor::take_line() {
  const auto end = heard_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  line said;
  for (std::size_t at = 0; at < end;) {
    const auto stop = std::min(heard_.find(' ', at), end);
    if (stop > at) said.words.push_back(heard_.substr(at, stop - at));
    at = stop + 1;
  }
  heard_.erase(0, end + 1);
  if (said.words.empty()) throw std::runtime_error(name_ + " said nothing");
  return said;
}

std::optional<line> actor::hear(seconds wait) {
  const auto until = boot_clock::now() + std::chrono::duration_cast<instant::duration>(wait);
  for (;;) {
    if (auto said = take_line()) return said;
    if (!readable(socket_, until - boot_clock::now())) return std::nullopt;
    std::array<char, 4096> part;
    const auto got = ::recv(socket_, part.data(), part.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error(name_ + " ended before it was done");
    heard_.append(part.data(), static_cast<std::size_t>(got));
  }
}

line actor::expect(std::string_view word, seconds wait) {
  auto said = hear(wait);
  if (!said) throw std::runtime_error(name_ + " did not say \"" + std::string{word} + "\" in time");
  if (said->word() != word)
    throw std::runtime_error(name_ + " said \"" + said->word() + "\" instead of \"" + std::string{word} + '"');
  return std::move(*said);
}

void actor::signal(int number) const {
  if (::kill(pid_, number) != 0) fail("kill");
}

void actor::finish() {
  int status = 0;
  const auto until = boot_clock::now() + std::chrono::seconds{10};
  for (pid_t ended = 0; ended != pid_;) {
    ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) fail("waitpid");
    if (ended == 0 && boot_clock::now() > until) throw std::runtime_error(name_ + " does not come to an end");
    if (ended != pid_) rest(seconds{0.002});
  }
  pid_ = -1;
  if (status != 0) throw std::runtime_error(name_ + " failed");
}

}  // namespace interlock::cli::demo
