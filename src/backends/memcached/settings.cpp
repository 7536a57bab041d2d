// SPDX-License-Identifier: MIT
#include "backends/memcached/settings.hpp"

#include "core/registry.hpp"

namespace interlock::inline v1::memcached_store {
namespace {

failure bad(const std::string& text) { return failure(errc::invalid_argument, "store URL: " + text); }

std::string option(const store_url& url, std::string_view name) {
  const auto found = url.options.find(name);
  return found == url.options.end() ? std::string{} : found->second;
}

result<void> read_tls(const store_url& url, memcached_settings& out) {
  const net::tls_settings from{
      .ca = option(url, "tls_ca"), .cert = option(url, "tls_cert"), .key = option(url, "tls_key")};
  if (url.scheme != "memcacheds") {
    if (from.ca.empty() && from.cert.empty() && from.key.empty()) return {};
    return bad("tls_ca, tls_cert and tls_key are for memcacheds://, not memcached://");
  }
#if INTERLOCK_MEMCACHED_TLS
  auto made = net::make_tls_context(from);
  if (!made) return made.error();
  out.tls = std::move(*made);
  return {};
#else
  static_cast<void>(out);
  return failure(errc::unsupported, "memcacheds: this interlock was built without OpenSSL");
#endif
}

result<void> read_span(const store_url& url, std::string_view name, milliseconds& to) {
  const auto found = url.options.find(name);
  if (found == url.options.end()) return {};
  const auto span = parse_duration(found->second);
  if (!span) return bad("option " + std::string(name) + ": " + span.error().message());
  if (*span < milliseconds{10}) return bad(std::string(name) + "=" + found->second + " is less than 10ms");
  to = *span;
  return {};
}

}  // namespace

result<memcached_settings> read_settings(const backend_environment& environment) {
  const auto& url = environment.url;
  if (auto known = core::check_options(url, {"connect_timeout", "layout", "timeout", "tls_ca", "tls_cert", "tls_key"});
      !known)
    return known.error();
  memcached_settings out;
  if (url.endpoints.size() > 1)
    return bad(
        "memcached takes one host: with several, every client would have to spread names over them in the same way");
  if (!url.endpoints.empty()) {
    out.host = url.endpoints.front().host;
    out.port = url.endpoints.front().port.value_or(out.port);
    if (url.path.size() > 1) return bad("memcached has no databases: nothing may follow the host");
  } else if (url.path.size() > 1) {
    out.path = url.path;
  } else {
    return bad("memcached needs a host, as in memcached://localhost");
  }
  if (auto read = read_tls(url, out); !read) return read.error();
  if (const auto layout = option(url, "layout"); !layout.empty()) {
    if (layout != "item" && layout != "tooz") return bad("layout=" + layout + " is neither item nor tooz");
    out.tooz = layout == "tooz";
  }
  if (auto span = read_span(url, "timeout", out.timeout); !span) return span.error();
  if (auto span = read_span(url, "connect_timeout", out.connect_timeout); !span) return span.error();
  out.user = url.user;
  if (environment.options.password)
    out.password = environment.options.password;
  else if (!url.password.empty())
    out.password = [secret = url.password] { return secret; };
  return out;
}

}  // namespace interlock::inline v1::memcached_store
