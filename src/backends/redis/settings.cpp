// SPDX-License-Identifier: MIT
#include "backends/redis/settings.hpp"

#include "core/registry.hpp"

#include <charconv>
#include <optional>

namespace interlock::inline v1::redis_store {
failure bad(const std::string& text) { return failure(errc::invalid_argument, "store URL: " + text); }

namespace {

result<std::int64_t> whole(std::string_view what, std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size() || value < least || value > most)
    return bad(std::string(what) + " \"" + std::string(text) + "\" is not a number from " + std::to_string(least) +
               " to " + std::to_string(most));
  return value;
}

std::string option(const store_url& url, std::string_view name) {
  const auto found = url.options.find(name);
  return found == url.options.end() ? std::string{} : found->second;
}

result<void> read_span(const store_url& url, std::string_view name, milliseconds& to) {
  const auto text = option(url, name);
  if (text.empty()) return {};
  const auto span = parse_duration(text);
  if (!span) return bad("option " + std::string(name) + ": " + span.error().message());
  if (*span < milliseconds{10}) return bad(std::string(name) + "=" + text + " is less than 10ms");
  to = *span;
  return {};
}

// "/3" -> 3; "" and "/" -> 0
result<std::int64_t> database_of(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  return path.empty() ? result<std::int64_t>(0) : whole("the database", path, 0, 1'000'000);
}

result<void> read_place(const store_url& url, redis_settings& out) {
  if (url.scheme == "redis+unix") {
    if (!url.endpoints.empty() || url.path.size() < 2)
      return bad("redis+unix: needs the path of a socket, as in redis+unix:///run/redis/redis.sock");
    out.endpoints.push_back({.host = {}, .port = 0, .path = url.path});
    return {};
  }
  out.is = url.scheme.starts_with("redis+sentinel") || url.scheme.starts_with("rediss+sentinel") ? deployment::sentinel
           : url.scheme.starts_with("redis+cluster") || url.scheme.starts_with("rediss+cluster") ? deployment::cluster
                                                                                                 : deployment::single;
  const std::uint16_t port = out.is == deployment::sentinel ? 26379 : 6379;
  for (const auto& one : url.endpoints)
    out.endpoints.push_back({.host = one.host, .port = one.port.value_or(port), .path = {}});
  if (out.endpoints.empty()) return bad(url.scheme + " needs a host, as in " + url.scheme + "://localhost");
  if (out.is == deployment::single && out.endpoints.size() > 1)
    return bad(url.scheme + " takes one host; several are redis+sentinel:// or redis+cluster://");
  auto path = std::string_view(url.path);
  if (out.is == deployment::sentinel) {
    if (path.starts_with('/')) path.remove_prefix(1);
    const auto slash = path.find('/');
    out.master = path.substr(0, slash);
    if (out.master.empty()) return bad(url.scheme + " needs the master's name: " + url.scheme + "://host/mymaster");
    path = slash == path.npos ? std::string_view{} : path.substr(slash);
  }
  const auto database = database_of(path);
  if (!database) return database.error();
  if (out.is == deployment::cluster && *database != 0) return bad("a cluster has no database but 0");
  out.connection.database = *database;
  return {};
}

result<void> read_sentinel_credentials(const store_url& url, redis_settings& out) {
  out.to_sentinels = out.connection;
  if (!url.options.contains("sentinel_user") && !url.options.contains("sentinel_password")) return {};
  if (out.is != deployment::sentinel)
    return bad("sentinel_user and sentinel_password are for redis+sentinel://, not " + url.scheme + "://");
  out.to_sentinels.user = option(url, "sentinel_user");
  out.to_sentinels.password = [secret = option(url, "sentinel_password")] { return secret; };
  return {};
}

}  // namespace

result<redis_settings> read_settings(const backend_environment& environment) {
  const auto& url = environment.url;
  if (auto known =
          core::check_options(url, {"connect_timeout", "db", "fair_wait", "key", "layout", "object", "protocol",
                                    "replica_timeout", "replicas", "sentinel_user", "sentinel_password", "signal",
                                    "timeout", "tls_ca", "tls_cert", "tls_key", "token"});
      !known)
    return known.error();
  redis_settings out;
  if (auto place = read_place(url, out); !place) return place.error();
  auto& common = out.connection;
  if (const auto text = option(url, "db"); !text.empty()) {
    const auto database = whole("db", text, 0, 1'000'000);
    if (!database) return database.error();
    if (out.is == deployment::cluster && *database != 0) return bad("a cluster has no database but 0");
    common.database = *database;
  }
  if (auto span = read_span(url, "timeout", common.timeout); !span) return span.error();
  if (auto span = read_span(url, "connect_timeout", common.connect_timeout); !span) return span.error();
  if (auto span = read_span(url, "replica_timeout", out.replica_patience); !span) return span.error();
  if (const auto text = option(url, "protocol"); !text.empty()) {
    const auto number = whole("protocol", text, 2, 3);
    if (!number) return number.error();
    common.protocol = static_cast<int>(*number);
  }
  if (const auto text = option(url, "replicas"); !text.empty()) {
    const auto number = whole("replicas", text, 0, 16);
    if (!number) return number.error();
    out.replicas = static_cast<int>(*number);
  }
  if (out.replicas > 0 && out.replica_patience >= common.timeout)
    return bad("replica_timeout must be less than timeout, which is " + std::to_string(common.timeout.count()) + "ms");
  if (const auto text = option(url, "layout"); !text.empty()) out.layout = text;
  if (out.layout != "native" && out.layout != "plain" && out.layout != "redisson")
    return bad("layout=" + out.layout + " is none of native, plain, redisson");

  common.user = url.user;
  if (environment.options.password)
    common.password = environment.options.password;
  else if (!url.password.empty())
    common.password = [secret = url.password] { return secret; };

  const net::tls_settings tls{
      .ca = option(url, "tls_ca"), .cert = option(url, "tls_cert"), .key = option(url, "tls_key")};
  if (url.scheme.starts_with("rediss")) {
    auto made = net::make_tls_context(tls);
    if (!made) return made.error();
    common.tls = std::move(*made);
  } else if (!tls.ca.empty() || !tls.cert.empty() || !tls.key.empty()) {
    return bad("tls_ca, tls_cert and tls_key are for rediss://, not " + url.scheme + "://");
  }
  if (auto read = read_sentinel_credentials(url, out); !read) return read.error();
  return out;
}

}  // namespace interlock::inline v1::redis_store
