// SPDX-License-Identifier: MIT
#include "backends/mysql/settings.hpp"

#include "backends/mysql/schema.sql.hpp"
#include "core/registry.hpp"

#include <utility>

namespace interlock::inline v1::mysql_store {
namespace {

constexpr std::size_t longest_name = 64;   // of a database, table or procedure
constexpr std::size_t longest_ending = 7;  // of _settle
constexpr std::uint16_t usual_port = 3306;
constexpr std::string_view separator = "$$";

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

result<void> check(std::string_view option, std::string_view name, std::size_t longest) {
  const auto wrong = [&](const std::string& rule) { return bad("option " + std::string(option) + " " + rule); };
  if (name.empty()) return wrong("is empty");
  if (name.size() > longest) return wrong("is longer than " + std::to_string(longest) + " bytes");
  if (name.find(separator) != name.npos) return wrong("contains $$, which ends a statement of the schema");
  if (name.back() == ' ') return wrong("ends with a blank, which servers do not allow");
  for (const char c : name)
    if (static_cast<unsigned char>(c) < 0x20) return wrong("contains a control character");
  return {};
}

result<void> read_tls(const store_url& url, mysql_settings& out) {
  out.ca = option(url, "sslrootcert");
  out.certificate = option(url, "sslcert");
  out.key = option(url, "sslkey");
  const auto mode = option(url, "sslmode");
  using encryption = mysql_settings::encryption;
  if (mode == "verify-full" || (mode.empty() && !out.ca.empty()))
    out.tls = encryption::verified;
  else if (mode == "require")
    out.tls = encryption::unverified;
  else if (!mode.empty() && mode != "disable")
    return bad("sslmode=" + mode + " is none of disable, require and verify-full");
  else if (!out.certificate.empty() || !out.key.empty())
    return bad("sslcert and sslkey are for TLS: say sslmode=verify-full as well");
  return {};
}

result<void> read_mode(const store_url& url, mysql_settings& out) {
  const auto mode = option(url, "mode"), keys = option(url, "keys");
  if (!mode.empty() && mode != "session" && mode != "table")
    return bad("mode=" + mode + " is neither table nor session");
  out.sessions = mode == "session";
  for (const auto* name : {"create", "schema", "table"})
    if (out.sessions && url.options.contains(name))
      return bad(std::string(name) + " is for tables, and mode=session has none");
  if (keys.empty()) return {};
  if (!out.sessions) return bad("keys is for user locks: it needs mode=session");
  if (keys != "medallion" && keys != "plain") return bad("keys=" + keys + " is neither medallion nor plain");
  out.keys = keys == "plain" ? key_rule::plain : key_rule::medallion;
  return {};
}

void read_place(const store_url& url, mysql_settings& out) {
  out.socket = option(url, "socket");
  for (const auto& one : url.endpoints) out.hosts.emplace_back(one.host, one.port.value_or(usual_port));
  if (out.hosts.empty() && out.socket.empty()) out.hosts.emplace_back("localhost", usual_port);
  out.shown = "mysql " + (out.hosts.empty() ? out.socket : out.hosts.front().first);
  out.user = url.user;
  if (url.path.size() > 1) out.database = url.path.substr(1);
}

}  // namespace

result<sql::object_names> read_names(const store_url& url) {
  sql::object_names out{.quote = '`'};
  if (url.path.size() > 1) out.schema = url.path.substr(1);
  if (const auto text = option(url, "schema"); !text.empty()) out.schema = text;
  if (const auto text = option(url, "table"); !text.empty()) out.table = text;
  if (auto fine = check("schema", out.schema, longest_name); !fine) return fine.error();
  if (auto fine = check("table", out.table, longest_name - longest_ending); !fine) return fine.error();
  return out;
}

result<mysql_settings> read_settings(const backend_environment& environment) {
  const auto& url = environment.url;
  if (auto known = core::check_options(url, {"connect_timeout", "create", "keys", "mode", "schema", "socket", "sslcert",
                                             "sslkey", "sslmode", "sslrootcert", "table", "timeout"});
      !known)
    return known.error();
  mysql_settings out;
  read_place(url, out);
  if (!out.socket.empty() && !url.endpoints.empty()) return bad("socket= and a host exclude each other");
  if (auto read = read_tls(url, out); !read) return read.error();
  auto names = read_names(url);
  if (!names) return names.error();
  out.names = std::move(*names);
  if (auto span = read_span(url, "timeout", out.timeout); !span) return span.error();
  if (auto span = read_span(url, "connect_timeout", out.connect_timeout); !span) return span.error();
  if (const auto text = option(url, "create"); !text.empty()) {
    if (text != "yes" && text != "no") return bad("create=" + text + " is neither yes nor no");
    out.may_create = text == "yes";
  }
  if (auto read = read_mode(url, out); !read) return read.error();
  if (environment.options.password)
    out.password = environment.options.password;
  else if (!url.password.empty())
    out.password = [secret = url.password] { return secret; };
  return out;
}

std::string schema_text(const sql::object_names& names) { return sql::filled_in(embedded::mysql_schema_sql, names); }

std::vector<std::string> schema_statements(const sql::object_names& names) {
  std::vector<std::string> out;
  const auto all = schema_text(names);
  std::string_view rest = all;
  rest.remove_prefix(rest.find(separator) + separator.size());  // delimiter $$: the client's own
  for (auto end = rest.find(separator); end != rest.npos; end = rest.find(separator)) {
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + separator.size());
  }
  return out;
}

}  // namespace interlock::inline v1::mysql_store
