// SPDX-License-Identifier: MIT
#include "backends/mysql/replica_clocks.hpp"

#include "backends/mysql/introduction.hpp"
#include "backends/mysql/talk.hpp"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>

namespace interlock::inline v1::mysql_store {
namespace {

using verdict = store_check::verdict;
using seconds = std::chrono::duration<double>;

constexpr double much_ahead = 2;  // seconds

// By how much it is ahead of this host's.
result<double> read_clock(const mysql_settings& settings, const std::pair<std::string, std::uint16_t>& host,
                          const std::atomic<bool>& cancelled) {
  auto begun = begin(settings, true);
  if (!begun) return begun.error();
  talk to(begun->get(), boot_clock::now() + settings.connect_timeout, cancelled);
  if (auto up = reach(to, begun->get(), settings, host); !up) return up.error();
  const auto got = to.say("select timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) / 1000000");
  if (!got) return got.error();
  return std::atof(got->at(0).at(0).c_str()) - seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

store_check warning(std::string seen, std::string remedy) {
  return {verdict::warn, "replica clocks", std::move(seen), std::move(remedy)};
}

}  // namespace

std::string host_and_port(const std::pair<std::string, std::uint16_t>& host) {
  return host.first + ":" + std::to_string(host.second);
}

store_check check_replica_clocks(const mysql_settings& settings, const std::string& primary,
                                 const std::atomic<bool>& cancelled) {
  std::map<std::string, double> all;
  for (const auto& host : settings.hosts) {
    const auto ahead = read_clock(settings, host, cancelled);
    if (!ahead)
      return warning(host_and_port(host) + " could not be asked: " + ahead.error().message(),
                     "every host of the URL may have to take over");
    all[host_and_port(host)] = *ahead;
  }
  for (const auto& [host, ahead] : all)
    if (const auto apart = ahead - all[primary]; apart > much_ahead)
      return warning(host + " is " + std::to_string(std::llround(apart)) +
                         " s ahead of the primary: after a fail-over it ends leases early",
                     "let all hosts be slewed by NTP");
  return {verdict::ok, "replica clocks", "none of the URL's hosts is ahead of the primary", {}};
}

}  // namespace interlock::inline v1::mysql_store
