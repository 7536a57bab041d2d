// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"
#include "cli/doctor.hpp"
#include "cli/exit_code.hpp"
#include "cli/json.hpp"
#include "cli/store.hpp"
#include "cli/words.hpp"

#include <interlock/url.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace interlock::cli {
namespace {

using verdict = finding::verdict;

struct examination {
  std::string store{};
  findings found{};
  int code = exit_ok;
};

void examine(const arguments& got, examination& out) {
  const auto before = boot_clock::now();
  auto first = open_store(got);
  const auto took = boot_clock::now() - before;
  if (!first) {
    out.found.push_back({verdict::fail, "reachable", first.error().message(), "start the store, or correct its URL"});
    out.code = first.error() == errc::invalid_argument ? exit_usage : exit_unavailable;
    return;
  }
  out.store = first->url();
  out.found.push_back(
      {verdict::ok, "reachable", "connected in " + std::to_string(took / std::chrono::microseconds(1)) + " us"});
  examine_traits(first->traits(), out.found);
  try {
    for (auto& one : first->examine()) out.found.push_back(std::move(one));
  } catch (const lock_error& wrong) {
    out.found.push_back({verdict::fail, "settings", wrong.why().message(), "see whether the store still answers"});
  }
  arguments again = got;
  again.quiet = true;
  if (first->traits().store == "memory") {
    out.found.push_back({verdict::warn, "scope", "private to one process: it keeps out no other",
                         "choose sqlite:PATH to lock between processes"});
    examine_grants(*first, *first, out.found);
  } else {
    auto second = open_store(again);
    if (second)
      examine_grants(*first, *second, out.found);
    else
      out.found.push_back({verdict::fail, "second connection", second.error().message(), "allow more than one client"});
  }
  if (first->traits().store == "sqlite")
    if (const auto url = parse_url(first->url()); url) examine_file(url->path, out.found);
}

std::string as_json(const examination& out) {
  json_writer json;
  json.begin_object().key("store").text(out.store).key("fit").boolean(out.code == exit_ok).key("checks").begin_array();
  for (const auto& one : out.found) {
    json.begin_object().key("check").text(one.check).key("verdict").text(to_string(one.is));
    json.key("seen").text(one.seen).key("advice").text(one.advice).end_object();
  }
  return json.end_array().end_object().str() + "\n";
}

std::string as_text(const examination& out) {
  std::string text = out.store.empty() ? "" : safe(out.store) + "\n";
  for (const auto& one : out.found) {
    const auto verdict_text = std::string(to_string(one.is));
    text += "  " + verdict_text + std::string(6 - verdict_text.size(), ' ') + std::string(one.check) +
            std::string(one.check.size() < 18 ? 18 - one.check.size() : 1, ' ') + safe(one.seen) + "\n";
    if (!one.advice.empty()) text += std::string(26, ' ') + "-> " + safe(one.advice) + "\n";
  }
  return text + (out.code == exit_ok ? "fit for locks\n" : "not fit for locks\n");
}

}  // namespace

int doctor_command(const arguments& got) {
  examination out;
  examine(got, out);
  const bool failed =
      std::any_of(out.found.begin(), out.found.end(), [](const finding& one) { return one.is == verdict::fail; });
  if (failed && out.code == exit_ok) out.code = exit_unavailable;
  // A URL that is wrong is a wrong call, not a sick store.
  if (out.code == exit_usage)
    say(safe(out.found.back().seen));
  else
    print(got.json ? as_json(out) : as_text(out));
  return out.code;
}

}  // namespace interlock::cli
