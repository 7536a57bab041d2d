// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/clock.hpp>

#include <sys/types.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::cli::demo {

using seconds = std::chrono::duration<double>;

/// Thrown wherever the demo waits, once somebody pressed Ctrl-C.
struct interrupted : std::runtime_error {
  explicit interrupted(int number) : std::runtime_error("interrupted"), signal(number) {}
  int signal;
};

/// While it lives, SIGINT, SIGTERM and SIGHUP end the demo in good order instead of at once.
class orderly_end {
 public:
  orderly_end();
  orderly_end(const orderly_end&) = delete;
  orderly_end& operator=(const orderly_end&) = delete;
  ~orderly_end();
  static void check();

 private:
  static constexpr std::array signals_{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals_.size()> before_{};
};

/// Sleeps; ends early only by `interrupted`.
void rest(seconds time);

/// A private directory, gone with its content at the end.
class workshop {
 public:
  workshop();
  workshop(const workshop&) = delete;
  workshop& operator=(const workshop&) = delete;
  ~workshop();
  [[nodiscard]] std::string file(std::string_view name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string store() const { return "sqlite:" + file("locks.db"); }

 private:
  std::filesystem::path folder_;
};

/// What an actor said: its words, split at blanks.
struct line {
  std::vector<std::string> words{};
  [[nodiscard]] const std::string& word() const { return words.front(); }
  [[nodiscard]] std::uint64_t number(std::size_t i) const { return std::stoull(words.at(i)); }
  /// An instant an actor took on the clock all processes of this host share.
  [[nodiscard]] instant when(std::size_t i) const { return instant{instant::duration{std::stoll(words.at(i))}}; }
};

/// A process of its own, killed with the object. One socket carries its stdin and stdout.
class actor {
 public:
  actor(const std::string& program, std::string name, const std::vector<std::string>& role);
  actor(actor&& other) noexcept;
  actor& operator=(actor&&) = delete;
  ~actor();

  [[nodiscard]] const std::string& name() const { return name_; }
  void tell(std::string_view word);
  /// The next line, if it comes within `wait`. Throws if the process has ended.
  std::optional<line> hear(seconds wait);
  /// The next line, which must begin with `word`. Throws if it does not, or does not come.
  line expect(std::string_view word, seconds wait = seconds{15});
  void signal(int number) const;
  /// Waits for the end; throws if it was not a clean one.
  void finish();

 private:
  std::optional<line> take_line();

  std::string name_;
  std::string heard_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

/// Seconds from one instant to another.
inline double between(instant from, instant to) { return seconds{to - from}.count(); }

}  // namespace interlock::cli::demo
