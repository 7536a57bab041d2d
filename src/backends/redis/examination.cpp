// SPDX-License-Identifier: MIT
#include "backends/redis/examination.hpp"

#include "backends/redis/info.hpp"

#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

namespace interlock::inline v1::redis_store {
namespace {

using verdict = store_check::verdict;

constexpr std::array<std::string_view, 5> asked_settings{"maxmemory-policy", "appendonly", "appendfsync", "save",
                                                         "timeout"};

/// What one master said.
struct server_answers {
  std::string info{};
  std::map<std::string, std::string, std::less<>> settings{};
  std::string denied{};   // why not, if it would not say its settings
  std::string silence{};  // why not, if it would not say how it is

  [[nodiscard]] std::string setting(std::string_view name) const {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string{} : found->second;
  }
};

struct examination {
  std::mutex mutex;
  std::vector<server_answers> masters;
  std::size_t open = 0;
  std::string failed;
  redis_settings settings;
  server_facts facts;
  completion<std::vector<store_check>> done;
};

void check_version(const examination& all, std::vector<store_check>& out) {
  const auto& facts = all.facts;
  const auto seen = "Redis " + (facts.version.empty() ? std::string("of unknown version") : facts.version) + ", RESP" +
                    (facts.resp3 ? "3" : "2") + (facts.mode.empty() ? "" : ", " + facts.mode);
  if (facts.version_number != 0 && facts.version_number < 50000)
    out.push_back({verdict::fail, "server", seen, "interlock needs Redis 5.0 or newer"});
  else if (!facts.resp3)
    out.push_back({verdict::warn, "server", seen, "with Redis 6 or newer one connection does for questions and news"});
  else
    out.push_back({verdict::ok, "server", seen, {}});
}

void check_memory(const server_answers& one, std::vector<store_check>& out) {
  const auto policy =
      one.settings.empty() ? std::string(info_field(one.info, "maxmemory_policy")) : one.setting("maxmemory-policy");
  const auto limit = info_field(one.info, "maxmemory");
  if (policy.empty())
    out.push_back({verdict::warn, "eviction", "unknown: " + one.denied, "allow +config|get or +info to find out"});
  else if (policy == "noeviction")
    out.push_back({verdict::ok, "eviction", "noeviction: locks are not thrown out of a full memory", {}});
  else
    out.push_back({verdict::warn, "eviction",
                   "maxmemory-policy " + policy + (limit == "0" ? ", though no maxmemory is set" : "") +
                       ": a full memory throws locks out",
                   "CONFIG SET maxmemory-policy noeviction, or a Redis of its own for locks"});
}

void check_persistence(const server_answers& one, std::vector<store_check>& out) {
  if (one.settings.empty()) {
    const auto log = info_field(one.info, "aof_enabled");
    if (log.empty())
      out.push_back({verdict::warn, "persistence", "unknown: " + one.denied, "allow +config|get to find out"});
    else if (log == "1")
      out.push_back({verdict::warn, "persistence",
                     "there is an append-only file; how often it is synced is not told: " + one.denied,
                     "allow +config|get to find out"});
    else
      out.push_back({verdict::warn, "persistence", "no append-only file: a restart forgets who holds a lock",
                     "CONFIG SET appendonly yes"});
    return;
  }
  if (one.setting("appendonly") != "yes")
    out.push_back({verdict::warn, "persistence",
                   one.setting("save").empty() ? "none: a restart forgets every lock and every token"
                                               : "snapshots only: a restart forgets the locks since the last one",
                   "CONFIG SET appendonly yes; or keep it down for one lease after a crash"});
  else if (one.setting("appendfsync") != "always")
    out.push_back({verdict::warn, "persistence",
                   "append-only file, synced " + one.setting("appendfsync") + ": a crash may forget the last second",
                   "CONFIG SET appendfsync always, if that is fast enough"});
  else
    out.push_back({verdict::ok, "persistence", "append-only file, synced with every write", {}});
}

void check_replicas(const server_answers& one, const redis_settings& settings, std::vector<store_check>& out) {
  const auto count = info_field(one.info, "connected_slaves");
  int connected = 0;
  if (std::from_chars(count.data(), count.data() + count.size(), connected).ec != std::errc{}) {
    out.push_back({verdict::warn, "replicas", "unknown: " + one.silence, "allow +info to find out"});
    return;
  }
  const auto seen =
      connected == 0 ? std::string("none") : std::string(count) + (connected == 1 ? " replica" : " replicas");
  const auto wanted = std::to_string(settings.replicas);
  if (connected < settings.replicas)
    out.push_back({verdict::fail, "replicas",
                   seen + (connected == 0 ? " is connected" : "") + ", but " + wanted +
                       " must confirm a grant: nobody gets a lock",
                   "connect more, or ask for fewer by replicas= in the URL"});
  else if (settings.replicas > 0)
    out.push_back({verdict::ok, "replicas", seen + ", of which " + wanted + " must confirm a grant", {}});
  else if (connected > 0)
    out.push_back({verdict::warn, "replicas",
                   seen + ", which learn of a grant after its holder: a fail-over may forget it",
                   "add replicas=1 to the URL, so that a grant waits for a replica"});
  else if (settings.is == deployment::single)
    out.push_back({verdict::ok, "replicas", "none", {}});
  else
    out.push_back({verdict::warn, "replicas", "none is connected: nobody takes over when this server fails",
                   "connect a replica"});
}

void check_patience(const server_answers& one, std::vector<store_check>& out) {
  const auto idle = one.setting("timeout");
  if (!idle.empty() && idle != "0")
    out.push_back({verdict::warn, "idle clients", "are cut off after " + idle + " s, and with them their wake-ups",
                   "CONFIG SET timeout 0"});
}

std::vector<store_check> judge(const examination& all) {
  std::vector<store_check> out;
  check_version(all, out);
  if (!all.failed.empty()) out.push_back({verdict::fail, "settings", all.failed, "see whether all masters answer"});
  for (const auto& one : all.masters) {
    check_memory(one, out);
    check_persistence(one, out);
    check_replicas(one, all.settings, out);
    check_patience(one, out);
    if (all.masters.size() > 1) break;  // a cluster's nodes are set up alike, or its owner has other worries
  }
  return out;
}

void arrived(const std::shared_ptr<examination>& all) {
  {
    const std::lock_guard lock(all->mutex);
    if (--all->open > 0) return;
  }
  all->done(judge(*all));
}

}  // namespace

void examine(std::shared_ptr<courier> way, const redis_settings& settings, completion<std::vector<store_check>> done) {
  auto all = std::make_shared<examination>();
  all->settings = settings;
  all->facts = way->facts();
  all->done = std::move(done);
  const auto count = way->masters();
  all->masters.resize(count);
  all->open = count * (1 + asked_settings.size());
  for (std::size_t i = 0; i < count; ++i) {
    way->send_to(i, packet({"INFO"}), [all, i](const result<reply>& got) {
      {
        const std::lock_guard lock(all->mutex);
        if (got) {
          all->masters[i].info = got->text();
        } else {
          all->masters[i].silence = got.error().message();
          if (got.error() != errc::denied) all->failed = got.error().message();
        }
      }
      arrived(all);
    });
    for (const auto name : asked_settings)
      way->send_to(i, packet({"CONFIG", "GET", name}), [all, i](const result<reply>& got) {
        {
          const std::lock_guard lock(all->mutex);
          if (!got)
            all->masters[i].denied = got.error().message();
          else if (got->size() == 2)
            all->masters[i].settings.emplace((*got)[0].text(), (*got)[1].text());
        }
        arrived(all);
      });
  }
}

std::string weak_points(const std::vector<store_check>& checks) {
  std::string out;
  for (const auto& one : checks)
    if (one.is != verdict::ok && one.check != "server") out += (out.empty() ? "" : "; ") + one.check + ": " + one.seen;
  return out;
}

}  // namespace interlock::inline v1::redis_store
