// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cli_test {
namespace {

std::vector<char*> pointers(strings& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

strings environment_with(const launch& how) {
  strings out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!how.environment.contains(text.substr(0, text.find('=')))) out.push_back(text);
  }
  for (const auto& [name, value] : how.environment)
    if (value) out.push_back(name + "=" + *value);
  return out;
}

struct pipe_ends {
  int read, write;
};
pipe_ends make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  return {ends[0], ends[1]};
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

int ended::code() const { return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status); }
int ended::signal() const { return WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0; }

process::process(const strings& argv, const launch& how) {
  auto arguments = argv;
  auto environment = environment_with(how);
  const auto args = pointers(arguments);
  const auto env = pointers(environment);
  const auto out = make_pipe();
  const auto err = make_pipe();
  pid_ = ::fork();
  if (pid_ == 0) {
    if (how.own_group) ::setpgid(0, 0);
    ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    ::dup2(out.write, 1);
    ::dup2(err.write, 2);
    if (how.status_fd == 9)
      ::fcntl(9, F_SETFD, 0);  // dup2 onto itself would leave it to be closed by exec
    else if (how.status_fd >= 0)
      ::dup2(how.status_fd, 9);
    ::execvpe(args[0], args.data(), env.data());
    ::_exit(99);
  }
  ::close(out.write);
  ::close(err.write);
  out_ = out.read;
  err_ = err.read;
}

process::process(process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      since_(other.since_) {}

process::~process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

bool process::wait_stopped() {
  int status = 0;
  return eventually([&] { return ::waitpid(pid_, &status, WUNTRACED | WNOHANG) == pid_; }) && WIFSTOPPED(status);
}

ended process::wait(std::chrono::milliseconds most) {
  ended result;
  const auto until = std::chrono::steady_clock::now() + most;
  std::array<pollfd, 2> pipes{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(pipes.data(), pipes.size(), static_cast<int>(left.count())) <= 0) {
      ADD_FAILURE() << "not over after " << most.count() << " ms; so far: " << result.out << result.err;
      ::kill(pid_, SIGKILL);
      break;
    }
    for (auto& one : pipes) {
      if (one.fd < 0 || one.revents == 0) continue;
      std::array<char, 4096> bytes{};
      const auto got = ::read(one.fd, bytes.data(), bytes.size());
      if (got > 0)
        (one.fd == out_ ? result.out : result.err).append(bytes.data(), static_cast<std::size_t>(got));
      else
        one.fd = -1;
    }
  }
  ::waitpid(std::exchange(pid_, -1), &result.wait_status, 0);
  result.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - since_);
  return result;
}

char state_of(pid_t pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = text.rfind(')');
  return name_end == std::string::npos ? '\0' : text[name_end + 2];
}

std::optional<pid_t> child_named(pid_t parent, std::string_view name) {
  const auto base = "/proc/" + std::to_string(parent);
  std::istringstream children(read_file(base + "/task/" + std::to_string(parent) + "/children"));
  for (pid_t child = 0; children >> child;)
    if (read_file("/proc/" + std::to_string(child) + "/comm") == std::string(name) + "\n") return child;
  return {};
}

command_test::command_test() {
  std::string name = (std::filesystem::temp_directory_path() / "interlock-cli-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
  folder_ = name;
}

command_test::~command_test() {
  std::error_code ignored;  // a watcher that is about to end may still be busy in there
  std::filesystem::remove_all(folder_, ignored);
}

std::string command_test::read(std::string_view name) const { return read_file(file(name)); }

void command_test::write(std::string_view name, std::string_view text, int mode) const {
  std::ofstream(file(name), std::ios::binary) << text;
  ::chmod(file(name).c_str(), static_cast<mode_t>(mode));
}

pid_t command_test::pid_in(std::string_view name) const {
  EXPECT_TRUE(eventually([&] { return read(name).ends_with('\n'); })) << name << " was not written";
  return static_cast<pid_t>(std::atoi(read(name).c_str()));
}

process command_test::start(const strings& arguments, launch how) const {
  strings argv{INTERLOCK_COMMAND};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  how.environment.try_emplace("INTERLOCK_STORE", url());
  return process(argv, how);
}

process command_test::start_script(std::string_view name, const strings& options, const std::string& script,
                                   const launch& how) const {
  strings arguments{"run", std::string(name)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  for (const auto& one :
       {std::string("--"), std::string("sh"), std::string("-c"), "cd '" + folder_.string() + "'; " + script})
    arguments.push_back(one);
  return start(arguments, how);
}

}  // namespace cli_test
