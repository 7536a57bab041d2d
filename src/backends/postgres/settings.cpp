// SPDX-License-Identifier: MIT
#include "backends/postgres/settings.hpp"

#include "core/registry.hpp"

namespace interlock::inline v1::postgres_store {
namespace {

constexpr milliseconds patience_with_session{10'000};  // giving up a session gives up its locks

failure bad(const std::string& text) { return failure(errc::invalid_argument, "store URL: " + text); }

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

result<void> read_switch(const store_url& url, std::string_view name, bool& to) {
  const auto text = option(url, name);
  if (text.empty()) return {};
  if (text != "yes" && text != "no") return bad(std::string(name) + "=" + text + " is neither yes nor no");
  to = text == "yes";
  return {};
}

// Several hosts are tried in turn until one is found that takes writes.
void read_place(const store_url& url, postgres_settings& out) {
  std::string hosts, ports;
  for (const auto& one : url.endpoints) {
    hosts += (hosts.empty() ? "" : ",") + one.host;
    ports += (ports.empty() ? "" : ",") + std::to_string(one.port.value_or(5432));
  }
  if (!hosts.empty()) {
    out.parameters.emplace_back("host", hosts);
    out.parameters.emplace_back("port", ports);
  }
  if (!url.user.empty()) out.parameters.emplace_back("user", url.user);
  if (url.path.size() > 1) out.parameters.emplace_back("dbname", url.path.substr(1));
  for (const auto* name : {"host", "port"})  // as libpq's own URLs have it: the folder of a unix socket
    if (const auto text = option(url, name); !text.empty() && hosts.empty()) out.parameters.emplace_back(name, text);
}

// Tables, or the locks of a session; options of the one mean nothing to the other.
result<void> read_mode(const store_url& url, postgres_settings& out) {
  const auto mode = option(url, "mode");
  if (!mode.empty() && mode != "table" && mode != "session")
    return bad("mode=" + mode + " is neither table nor session");
  out.sessions = mode == "session";
  for (const auto* name : {"create", "listen", "schema", "table"})
    if (out.sessions && url.options.contains(name))
      return bad(std::string(name) + " is for tables: mode=session has none");
  if (out.sessions) out.timeout = patience_with_session;
  const auto keys = option(url, "keys");
  if (keys.empty()) return {};
  const auto rule = parse_key_rule(keys);
  if (!out.sessions) return bad("keys is for advisory locks: it needs mode=session");
  if (!rule)
    return bad("keys=" + keys +
               " is none of sha256, django-pglock, django-pglocks, flyway, medallion, number, rails, symfony, tooz, "
               "with_advisory_lock");
  out.keys = *rule;
  return {};
}

}  // namespace

result<object_names> read_names(const store_url& url) {
  object_names out;
  if (const auto text = option(url, "schema"); !text.empty()) out.schema = text;
  if (const auto text = option(url, "table"); !text.empty()) out.table = text;
  if (auto fine = check_names(out); !fine) return fine.error();
  return out;
}

result<postgres_settings> read_settings(const backend_environment& environment) {
  const auto& url = environment.url;
  if (auto known = core::check_options(
          url, {"connect_timeout", "create", "gssencmode", "host", "keys", "listen", "mode", "pooler", "port", "schema",
                "sslcert", "sslcrl", "sslkey", "sslmode", "sslrootcert", "table", "timeout"});
      !known)
    return known.error();
  postgres_settings out;
  out.shown = url.endpoints.empty() ? option(url, "host") : url.endpoints.front().host;
  if (out.shown.empty()) out.shown = "this host";
  read_place(url, out);
  for (const auto* name : {"sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl"})
    if (const auto text = option(url, name); !text.empty()) out.parameters.emplace_back(name, text);
  // Otherwise libpq looks for a Kerberos ticket at every connection, which takes longer than the connection.
  const auto gss = option(url, "gssencmode");
  out.parameters.emplace_back("gssencmode", gss.empty() ? "disable" : gss);
  out.parameters.emplace_back("target_session_attrs", "read-write");
  out.parameters.emplace_back("fallback_application_name", "interlock");

  auto names = read_names(url);
  if (!names) return names.error();
  out.names = std::move(*names);
  if (auto read = read_mode(url, out); !read) return read.error();
  if (auto span = read_span(url, "timeout", out.timeout); !span) return span.error();
  if (auto span = read_span(url, "connect_timeout", out.connect_timeout); !span) return span.error();
  if (auto read = read_switch(url, "create", out.may_create); !read) return read.error();
  if (auto read = read_switch(url, "listen", out.listens); !read) return read.error();
  if (const auto text = option(url, "pooler"); !text.empty()) {
    if (text != "session") return bad("pooler=" + text + " is not session, the only mode that locks can work in");
    out.sticky_pooler = true;
  }
  // So that a connection that says nothing more is noticed in the time a request has, also while nobody asks.
  out.parameters.emplace_back("tcp_user_timeout", std::to_string(out.timeout.count()));
  out.parameters.emplace_back("keepalives_idle", "15");
  out.parameters.emplace_back("keepalives_interval", "5");

  if (environment.options.password)
    out.password = environment.options.password;
  else if (!url.password.empty())
    out.password = [secret = url.password] { return secret; };
  return out;
}

}  // namespace interlock::inline v1::postgres_store
