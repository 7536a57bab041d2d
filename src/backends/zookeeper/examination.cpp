// SPDX-License-Identifier: MIT
#include "backends/zookeeper/examination.hpp"

#include "backends/zookeeper/claims.hpp"
#include "backends/zookeeper/four_letters.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

namespace interlock::inline v1::zookeeper_store {
namespace {

using verdict = store_check::verdict;

constexpr const char* whitelist = "4lw.commands.whitelist=srvr,mntr,conf in zoo.cfg lets this see more";

std::string joined(const std::vector<std::string>& all) {
  std::string out;
  for (const auto& one : all) out += (out.empty() ? "" : ", ") + one;
  return out;
}

struct server_words {
  endpoint where{};
  spoken srvr{}, mntr{}, conf{};
  [[nodiscard]] bool silent() const { return !srvr.wrong.empty(); }
};

/// "3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on ..." -> "3.8.0"
std::string version_in(const std::string& text) { return text.substr(0, text.find_first_of("-, ")); }

void check_servers(const std::vector<server_words>& all, std::vector<store_check>& out) {
  std::vector<std::string> silent, modes, closed;
  std::set<std::string> versions;
  bool leads = false, decides = false;
  for (const auto& one : all) {
    const auto shown = one.where.shown();
    if (one.silent()) silent.push_back(shown + " (" + one.srvr.wrong + ")");
    if (one.srvr.refused()) closed.push_back(shown);
    if (const auto version = one.srvr.after("Zookeeper version: ")) versions.insert(version_in(*version));
    const auto mode = one.srvr.after("Mode: ");
    if (mode) modes.push_back(shown + " " + *mode);
    leads = leads || mode == "leader" || mode == "standalone";
    decides = decides || mode.has_value();
    if (!one.silent() && !one.srvr.refused() && !mode) silent.push_back(shown + " (it belongs to no majority)");
  }
  if (versions.empty())
    out.push_back({verdict::ok, "server", "its version is not told", whitelist});
  else
    out.push_back({versions.size() > 1 ? verdict::warn : verdict::ok, "server",
                   "ZooKeeper " + joined({versions.begin(), versions.end()}),
                   versions.size() > 1 ? "servers of different versions: finish the upgrade" : ""});
  out.push_back({silent.empty() ? verdict::ok : verdict::warn, "endpoints",
                 std::to_string(all.size() - silent.size()) + " of " + std::to_string(all.size()) + " serve" +
                     (silent.empty() ? "" : "; not: " + joined(silent)),
                 silent.empty() ? "" : "start them, or take them out of the URL"});
  if (!closed.empty())
    out.push_back({verdict::ok, "ensemble", "not told by " + joined(closed), whitelist});
  else if (decides)
    out.push_back({leads ? verdict::ok : verdict::warn, "ensemble", joined(modes),
                   leads ? "" : "the one that leads is not in the URL: name all servers"});
}

void check_load(const std::vector<server_words>& all, std::vector<store_check>& out) {
  std::vector<std::string> latency, watches;
  bool slow_disk = false, closed = false;
  for (const auto& one : all) {
    const auto shown = one.where.shown();
    if (const auto words = one.srvr.after("Latency min/avg/max: ")) latency.push_back(shown + " " + *words);
    closed = closed || one.mntr.refused();
    if (const auto count = one.mntr.after("zk_watch_count\t"))
      watches.push_back(shown + " " + *count + " and " + one.mntr.after("zk_ephemerals_count\t").value_or("?") +
                        " nodes of sessions, " + one.mntr.after("zk_num_alive_connections\t").value_or("?") +
                        " connections");
    const auto late = one.mntr.after("zk_fsync_threshold_exceed_count\t");
    slow_disk = slow_disk || (late && std::atof(late->c_str()) > 0);
  }
  if (!latency.empty())
    out.push_back({verdict::ok, "latency", "min/avg/max in ms, by their own account: " + joined(latency), {}});
  if (!watches.empty())
    out.push_back({verdict::ok, "watches", joined(watches), {}});
  else if (closed)
    out.push_back({verdict::ok, "watches", "not told: mntr is not allowed", whitelist});
  if (slow_disk)
    out.push_back({verdict::warn, "disk", "writing the log has taken longer than a second",
                   "give dataLogDir a disk of its own: every grant waits for it"});
}

void check_sessions(const std::vector<server_words>& all, milliseconds shortest, milliseconds longest,
                    const zookeeper_settings& settings, std::vector<store_check>& out) {
  const auto bounds = "from " + (shortest.count() > 0 ? std::to_string(shortest.count()) : "?") + " to " +
                      std::to_string(longest.count()) + " ms";
  if (settings.lease + claims::margin > longest)
    out.push_back({verdict::warn, "sessions", bounds + ": shorter than the lease of this client and a second",
                   "raise maxSessionTimeout in zoo.cfg, or ask for shorter leases"});
  else
    out.push_back({verdict::ok, "sessions", bounds, {}});
  std::optional<long> tick;
  for (const auto& one : all)
    if (const auto told = one.conf.after("tickTime=")) tick = std::max(tick.value_or(0), std::atol(told->c_str()));
  if (tick && *tick > 2 * claims::margin.count())
    out.push_back({verdict::warn, "tick",
                   std::to_string(*tick) + " ms: a follower that dies may take a renewal with it",
                   "tickTime=2000 in zoo.cfg, or less"});
  else if (tick)
    out.push_back({verdict::ok, "tick", std::to_string(*tick) + " ms", {}});
}

std::string letters(std::int32_t rights) {
  std::string out;
  constexpr std::string_view all = "rwcda";
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((rights >> i & 1) != 0) out += all[i];
  return out;
}

}  // namespace

std::vector<store_check> examine_servers(const zookeeper_settings& settings, milliseconds longest_session) {
  std::vector<server_words> all;
  milliseconds shortest{0};
  for (const auto& where : settings.common.servers) {
    auto& one = all.emplace_back();
    one.where = where;
    one.srvr = ask_four_letters(where, settings.common, "srvr");
    if (one.silent()) continue;
    one.mntr = ask_four_letters(where, settings.common, "mntr");
    one.conf = ask_four_letters(where, settings.common, "conf");
    if (shortest.count() == 0) shortest = shortest_session(where, settings.common);
  }
  std::vector<store_check> out;
  check_servers(all, out);
  check_load(all, out);
  check_sessions(all, shortest, longest_session, settings, out);
  out.push_back(settings.common.tls
                    ? store_check{verdict::ok, "connection", "TLS; chain and host name are checked", {}}
                    : store_check{settings.common.credentials ? verdict::warn : verdict::ok, "connection",
                                  "in the clear",
                                  settings.common.credentials ? "the password can be read on the way: zks://" : ""});
  return out;
}

store_check check_access(const zookeeper_settings& settings, int error, const std::vector<access>& all) {
  const auto root = settings.root.empty() ? std::string("/") : settings.root;
  if (error == code::no_node)
    return {verdict::ok, "acl", root + " is not there yet; the first lock makes it, open to everybody", {}};
  if (error != code::ok)
    return {verdict::warn, "acl", root + ": " + failure_of(error, "reading the ACL").message(),
            "log in as a user who may read it: zk://user:password@..."};
  constexpr std::int32_t create = 4;
  std::string seen;
  bool open = false, any = false;
  for (const auto& one : all) {
    seen += (seen.empty() ? "" : ", ") + one.scheme + ":" + one.who + ":" + letters(one.rights);
    any = any || (one.rights & create) != 0;
    open = open || (one.scheme == "world" && (one.rights & create) != 0);
  }
  if (!any) return {verdict::warn, "acl", root + ": nobody may make nodes there (" + seen + ")", "setAcl"};
  if (!open && !settings.common.credentials)
    return {verdict::warn, "acl", root + ": " + seen + ", and nobody is logged in",
            "zk://user:password@..., or the right to create for world:anyone"};
  return {verdict::ok, "acl", root + ": " + seen, {}};
}

store_check check_members(int error, std::string_view config) {
  if (error != code::ok) return {verdict::ok, "members", "not told: /zookeeper/config cannot be read", {}};
  std::size_t voting = 0;
  for (std::size_t at = 0; at < config.size();) {
    const auto end = std::min(config.find('\n', at), config.size());
    const auto line = config.substr(at, end - at);
    if (line.starts_with("server.") && line.find(":observer") == line.npos) ++voting;
    at = end + 1;
  }
  if (voting <= 1)
    return {verdict::warn, "members",
            "one server: while it is down nothing can be locked, and its disk is all there is", "an ensemble of three"};
  const auto seen = std::to_string(voting) + " vote, so " + std::to_string((voting - 1) / 2) + " may be down";
  if (voting % 2 == 0) return {verdict::warn, "members", seen, "one more would bear one more death; one less as many"};
  return {verdict::ok, "members", seen, {}};
}

}  // namespace interlock::inline v1::zookeeper_store
