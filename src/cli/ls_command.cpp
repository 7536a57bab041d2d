// SPDX-License-Identifier: MIT
#include "cli/claims.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/json.hpp"
#include "cli/store.hpp"
#include "cli/words.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace interlock::cli {
namespace {

using row = std::array<std::string, 7>;

row row_of(const lock_info& lock) {
  row out{safe(lock.name), "-", "-", std::to_string(lock.waiters.size()), "-", "-", "-"};
  out[2] = permits_text(lock);
  if (lock.holders.empty()) return out;
  const auto& first = lock.holders.front();
  out[1] = mode_text(lock, first);
  if (first.token) out[4] = to_string(*first.token);
  out[5] = spoken(first.age);
  out[6] = who(first);
  if (lock.holders.size() > 1) out[6] += " and " + std::to_string(lock.holders.size() - 1) + " more";
  return out;
}

std::string table(const std::vector<lock_info>& locks) {
  std::vector<row> rows{{"NAME", "MODE", "HELD", "WAITERS", "TOKEN", "SINCE", "BY"}};
  for (const auto& lock : locks) rows.push_back(row_of(lock));
  std::array<std::size_t, 7> widths{};
  for (const auto& one : rows)
    for (std::size_t i = 0; i < one.size(); ++i) widths[i] = std::max(widths[i], width(one[i]));
  std::string out;
  for (const auto& one : rows) {
    for (std::size_t i = 0; i + 1 < one.size(); ++i) out += one[i] + std::string(widths[i] - width(one[i]) + 2, ' ');
    out += one.back() + "\n";
  }
  return out;
}

}  // namespace

int ls_command(const arguments& got) {
  auto locks = open_store(got);
  if (!locks) return report(locks.error());
  const auto found = locks->survey(got.words.empty() ? std::string_view{} : got.words[0]);
  if (got.json) {
    json_writer out;
    out.begin_object().key("store").text(locks->url()).key("locks").begin_array();
    for (const auto& lock : found) write_lock(out, lock);
    out.end_array().end_object();
    print(out.str() + "\n");
  } else if (!found.empty()) {
    print(table(found));
  } else if (!got.quiet) {
    say("nobody holds or waits for anything" + (got.words.empty() ? "" : " that begins with " + safe(got.words[0])));
  }
  return exit_ok;
}

}  // namespace interlock::cli
