// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace bench {
namespace {

std::string printed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string bar_of(const figure& one) {
  return one.bar ? (one.below ? "< " : "<= ") + show_number(*one.bar) + one.unit : "";
}

std::string spread_of(const figure& one) {
  return one.low && one.high ? show_number(*one.low) + ".." + show_number(*one.high) : "";
}

void print_head() { std::printf("%-27s %10s  %-13s %-10s %-5s\n", "figure", "measured", "min..max", "bar", ""); }

void print(const figure& one) {
  if (!one.skipped.empty()) {
    std::printf("%-27s %10s  %s\n", one.name.c_str(), one.failed ? "FAILED" : "not run", one.skipped.c_str());
  } else {
    std::printf("%-27s %10s  %-13s %-10s %-5s %s\n", one.name.c_str(), (show_number(one.value) + one.unit).c_str(),
                spread_of(one).c_str(), bar_of(one).c_str(), one.bar ? std::string(one.verdict()).c_str() : "",
                one.note.c_str());
  }
  std::fflush(stdout);
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ') out += c;
  }
  return out + '"';
}

void print_json(const figure& one, bool last) {
  std::string line = "  {\"name\": " + json_text(one.name) + ", \"verdict\": " + json_text(one.verdict());
  const auto add = [&](const char* name, std::optional<double> value) {
    if (value) line += std::string(", \"") + name + "\": " + printed("%.6g", *value);
  };
  if (one.skipped.empty()) {
    line += ", \"what\": " + json_text(one.what) + ", \"unit\": " + json_text(one.unit);
    add("value", one.value);
    add("min", one.low);
    add("max", one.high);
    add(one.below ? "below" : "at_most", one.bar);
  }
  line += ", \"note\": " + json_text(one.skipped.empty() ? one.note : one.skipped) + (last ? "}\n" : "},\n");
  std::fputs(line.c_str(), stdout);
}

}  // namespace

std::string_view figure::verdict() const {
  if (!skipped.empty()) return failed ? "FAILED" : "not run";
  return !bar ? "info" : met() ? "PASS" : "MISS";
}

void report::add(figure one) {
  if (!json_ && all_.empty()) print_head();
  if (!json_) print(one);
  all_.push_back(std::move(one));
}

void report::skip(std::string name, std::string why) { add({.name = std::move(name), .skipped = std::move(why)}); }

void report::fail(std::string name, std::string why) {
  add({.name = std::move(name), .skipped = std::move(why), .failed = true});
}

bool report::good() const {
  return std::all_of(all_.begin(), all_.end(), [](const figure& one) { return one.met() && !one.failed; });
}

void report::finish() const {
  if (!json_) return;
  std::puts("[");
  for (const auto& one : all_) print_json(one, &one == &all_.back());
  std::puts("]");
}

std::string show_time(double seconds) {
  if (seconds < 1e-6) return printed("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return printed("%.1f us", seconds * 1e6);
  if (seconds < 1) return printed("%.2f ms", seconds * 1e3);
  return printed("%.2f s", seconds);
}

std::string show_number(double value) {
  if (value == std::round(value)) return printed("%.0f", value);
  return printed(std::abs(value) < 10 ? "%.2f" : std::abs(value) < 100 ? "%.1f" : "%.0f", value);
}

}  // namespace bench
