// SPDX-License-Identifier: MIT
#include "backends/quorum/settings.hpp"

#include "core/registry.hpp"

#include <charconv>
#include <optional>
#include <set>
#include <utility>

namespace interlock::inline v1::quorum_store {
namespace {

constexpr milliseconds default_lease{30'000};
constexpr milliseconds default_timeout{1'000}, default_connect_timeout{2'000};

failure bad(const std::string& text) { return failure(errc::invalid_argument, "store URL: " + text); }

std::optional<std::string> option(const store_url& url, std::string_view name) {
  const auto found = url.options.find(name);
  return found == url.options.end() ? std::nullopt : std::optional(found->second);
}

result<unsigned> whole(std::string_view what, std::string_view text, unsigned least, unsigned most) {
  unsigned value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return bad(std::string(what) + "=" + std::string(text) + " is not a number from " + std::to_string(least) + " to " +
               std::to_string(most));
  return value;
}

result<void> read_span(const store_url& url, std::string_view name, milliseconds least, milliseconds& to) {
  const auto text = option(url, name);
  if (!text) return {};
  const auto span = parse_duration(*text);
  if (!span) return bad("option " + std::string(name) + ": " + span.error().message());
  if (*span < least)
    return bad(std::string(name) + "=" + *text + " is less than " + std::to_string(least.count()) + "ms");
  to = *span;
  return {};
}

// More than half, or two holders could each have found enough.
result<void> read_rules(const store_url& url, bool dual, core::quorum_rules& out) {
  const auto nodes = url.endpoints.size();
  if (dual && nodes != 2) return bad(url.scheme + " takes two hosts, as in " + url.scheme + "://one,two");
  if (nodes < 2 || nodes > core::most_nodes)
    return bad(url.scheme + " takes 2 to " + std::to_string(core::most_nodes) + " hosts, as in " + url.scheme +
               "://one,two,three");
  out.nodes = static_cast<unsigned>(nodes);
  out.needed = dual ? out.nodes : out.nodes / 2 + 1;
  if (const auto text = option(url, "quorum")) {
    const auto number = whole("quorum", *text, out.nodes / 2 + 1, out.nodes);
    if (!number) return number.error();
    out.needed = *number;
  }
  out.in_order = out.needed == out.nodes;
  if (const auto text = option(url, "drift")) {
    const auto number = whole("drift", *text, 0, 50);
    if (!number) return number.error();
    out.drift_percent = *number;
  }
  if (auto span = read_span(url, "drift_extra", milliseconds{0}, out.drift_extra); !span) return span.error();
  if (auto span = read_span(url, "vote_timeout", milliseconds{10}, out.patience); !span) return span.error();
  out.tokens = option(url, "token").value_or("counter") != "none";
  return {};
}

}  // namespace

result<quorum_settings> read_settings(const backend_environment& environment) {
  const auto& url = environment.url;
  if (auto known = core::check_options(
          url, {"connect_timeout", "db", "drift", "drift_extra", "key", "layout", "protocol", "quorum", "restart_delay",
                "timeout", "tls_ca", "tls_cert", "tls_key", "token", "vote_timeout"});
      !known)
    return known.error();
  quorum_settings out;
  const bool dual = url.scheme.ends_with("+dual");
  if (auto rules = read_rules(url, dual, out.rules); !rules) return rules.error();
  out.layout = option(url, "layout").value_or("plain");
  if (out.layout != "plain" && out.layout != "native")
    return bad("layout=" + out.layout + " is neither plain nor native");
  if (out.layout == "native")
    for (const char* name : {"key", "token"})
      if (option(url, name)) return bad("option " + std::string(name) + " is for layout=plain");

  out.restart_delay = environment.options.lease.value_or(default_lease);
  if (!environment.options.lease)
    if (auto span = read_span(url, "lease", milliseconds{1}, out.restart_delay); !span) return span.error();
  if (auto span = read_span(url, "restart_delay", milliseconds{0}, out.restart_delay); !span) return span.error();

  std::set<std::pair<std::string, std::uint16_t>> seen;
  for (const auto& where : url.endpoints) {
    if (!seen.emplace(where.host, where.port.value_or(6379)).second)
      return bad("the host " + where.host + " is named twice: one server has one vote");
    quorum_settings::server one;
    one.url = url;
    one.url.scheme = url.scheme == "redlocks" || url.scheme.starts_with("rediss") ? "rediss" : "redis";
    one.url.endpoints = {where};
    for (const char* mine : {"quorum", "drift", "drift_extra", "vote_timeout", "restart_delay"})
      one.url.options.erase(mine);
    one.url.options["layout"] = out.layout;
    auto redis = redis_store::read_settings(
        {one.url, environment.options, environment.time, environment.events, environment.loop});
    if (!redis) return redis.error();
    one.redis = std::move(*redis);
    if (!option(url, "timeout")) one.redis.connection.timeout = default_timeout;
    if (!option(url, "connect_timeout")) one.redis.connection.connect_timeout = default_connect_timeout;
    out.servers.push_back(std::move(one));
  }
  return out;
}

}  // namespace interlock::inline v1::quorum_store
