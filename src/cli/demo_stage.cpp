// SPDX-License-Identifier: MIT
#include "cli/demo_stage.hpp"

#include <langinfo.h>
#include <locale.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace interlock::cli::demo {
namespace {

constexpr std::string_view bold = "1", dim = "2", red = "31", green = "32", cyan = "36";

bool locale_is_utf8() {
  // A locale object of our own: setlocale() would change how the whole program prints numbers.
  const auto of_user = ::newlocale(LC_CTYPE_MASK, "", nullptr);
  if (of_user == nullptr) return false;
  const std::string_view codeset = ::nl_langinfo_l(CODESET, of_user);
  const bool utf8 = codeset == "UTF-8" || codeset == "utf8";
  ::freelocale(of_user);
  return utf8;
}

bool can_redraw() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && kind != nullptr && std::string_view{kind} != "dumb";
}

bool colors_unwanted() {
  const char* no = std::getenv("NO_COLOR");
  return no != nullptr && *no != '\0';
}

}  // namespace

std::string decimals(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

stage::stage(bool color) : color_(color && !colors_unwanted()), terminal_(can_redraw()), utf8_(locale_is_utf8()) {}

std::string stage::painted(std::string_view code, std::string_view text) const {
  if (!color_) return std::string{text};
  return "\x1b[" + std::string{code} + 'm' + std::string{text} + "\x1b[0m";
}

void stage::line(std::string_view text) {
  settle();
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void stage::title(std::string_view text) { line(painted(bold, text)); }

void stage::act(int number, std::string_view text) {
  line("");
  line(painted(cyan, std::to_string(number)) + "  " + painted(bold, text));
}

void stage::say(std::string_view text) { line("   " + std::string{text}); }

void stage::event(double at, std::string_view text) {
  line("   " + painted(dim, decimals(at, 2) + " s") + "  " + std::string{text});
}

void stage::live(const std::vector<std::string>& lines) {
  if (!terminal_) return;
  std::string screen = "\x1b[?7l";  // a wrapped line would be two to wipe, so what is too wide is cut off
  if (drawn_ > 0) screen += "\x1b[" + std::to_string(drawn_) + "A";
  for (const auto& each : lines) screen += "\x1b[2K   " + each + '\n';
  screen += "\x1b[?7h";
  drawn_ = lines.size();
  std::fwrite(screen.data(), 1, screen.size(), stdout);
  std::fflush(stdout);
}

void stage::settle() {
  if (drawn_ == 0) return;
  std::printf("\x1b[%zuA\x1b[J", drawn_);
  std::fflush(stdout);
  drawn_ = 0;
}

void stage::picture(const std::vector<std::string>& lines) {
  for (const auto& each : lines) say(each);
}

void stage::verdict(bool held, std::string_view text) {
  const std::string_view mark = held ? (utf8_ ? "✓" : "[ok]") : (utf8_ ? "✗" : "[FAILED]");
  line("   " + painted(held ? green : red, std::string{mark} + ' ' + std::string{text}));
}

void stage::command(std::string_view text) { line("      " + painted(bold, text)); }

void stage::pause() const {
  if (terminal_) std::this_thread::sleep_for(std::chrono::milliseconds{700});
}

std::string stage::bar(double done, double all, int width) const {
  const auto filled = all <= 0 ? 0 : std::clamp(static_cast<int>(done / all * width), 0, width);
  std::string text;
  for (int i = 0; i < width; ++i) text += i < filled ? mark_exclusive() : mark_none();
  return text;
}

}  // namespace interlock::cli::demo
