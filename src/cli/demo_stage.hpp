// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace interlock::cli::demo {

/// What the audience sees. On a terminal: colours, if wanted, and lines redrawn in place. Elsewhere: a plain transcript
/// in which nothing is said twice.
class stage {
 public:
  explicit stage(bool color);

  void title(std::string_view text);
  void act(int number, std::string_view text);
  void say(std::string_view text);
  /// Something happened, `seconds` into the act.
  void event(double at, std::string_view text);
  /// Replaces what was shown last by it. Terminals only.
  void live(const std::vector<std::string>& lines);
  void live(const std::string& line) { live(std::vector{line}); }
  /// Wipes what live() has drawn.
  void settle();
  /// Lines that stay; on a terminal they take the place of what live() has drawn.
  void picture(const std::vector<std::string>& lines);
  void verdict(bool held, std::string_view text);
  void command(std::string_view text);
  /// Time to read, for people.
  void pause() const;

  /// `done` of `all` as a bar.
  [[nodiscard]] std::string bar(double done, double all, int width = 40) const;
  [[nodiscard]] std::string_view mark_exclusive() const { return utf8_ ? "█" : "#"; }
  [[nodiscard]] std::string_view mark_shared() const { return utf8_ ? "▒" : "="; }
  [[nodiscard]] std::string_view mark_none() const { return utf8_ ? "·" : "."; }

 private:
  [[nodiscard]] std::string painted(std::string_view code, std::string_view text) const;
  void line(std::string_view text);

  bool color_;
  bool terminal_;
  bool utf8_;
  std::size_t drawn_ = 0;  // lines live() has on the screen
};

/// "1.94"
std::string decimals(double number, int digits);

}  // namespace interlock::cli::demo
