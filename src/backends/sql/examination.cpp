// SPDX-License-Identifier: MIT
#include "backends/sql/examination.hpp"

#include "backends/sql/session_store.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace interlock::inline v1::sql {
namespace {

using verdict = store_check::verdict;

constexpr double much_apart = 2;  // seconds
constexpr long few_left = 10;     // connections
constexpr long many_megabytes = 256;

}  // namespace

double findings::number(std::size_t column) const { return std::atof(text(column).c_str()); }

std::shared_ptr<errand> examine(std::string text, std::function<checks(const findings&)> judge,
                                completion<checks> done) {
  auto out = std::make_shared<errand>(
      nullptr, std::vector<std::string>{},
      [judge = std::move(judge), done = std::move(done)](const result<const rows*>& got) mutable {
        if (!got) return done(got.error());
        done(judge(findings{*got}));
      });
  out->text = std::move(text);
  return out;
}

store_check check_clock(double theirs) {
  using seconds = std::chrono::duration<double>;
  const auto here = seconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto apart = std::abs(here - theirs);
  if (apart <= much_apart) return {verdict::ok, "clock", "as this host's", {}};
  return {verdict::warn, "clock",
          "the server's differs by " + std::to_string(std::llround(apart)) + " s from this host's",
          "leases are counted on the server's clock alone, but a clock that is set forwards ends them early: "
          "let both be slewed by NTP"};
}

store_check check_way(bool by_socket, bool encrypted) {
  if (by_socket) return {verdict::ok, "encryption", "none needed: a unix socket", {}};
  if (encrypted) return {verdict::ok, "encryption", "TLS", {}};
  return {verdict::warn, "encryption", "none: whoever is on the way can take and end locks",
          "sslmode=verify-full in the URL"};
}

store_check check_room(long left) {
  const auto seen = std::to_string(left) + " more are possible";
  if (left >= few_left) return {verdict::ok, "connections", seen, {}};
  return {verdict::warn, "connections", seen, "raise max_connections: a client that cannot come back loses its locks"};
}

store_check check_tables(double bytes, long ended, const char* if_large) {
  const auto size = static_cast<long>(bytes / 1024 / 1024);
  const auto seen = std::to_string(size) + " MB";
  if (ended > 0)
    return {verdict::warn, "tables", seen + ", " + std::to_string(ended) + " claims ended more than an hour ago",
            "a client that stays connected removes them, every ten minutes"};
  if (size > many_megabytes) return {verdict::warn, "tables", seen, if_large};
  return {verdict::ok, "tables", seen, {}};
}

store_check check_sessions() {
  return {verdict::warn, "sessions", session_caveat,
          "without mode=session locks are in tables, with leases and tokens"};
}

}  // namespace interlock::inline v1::sql
