// SPDX-License-Identifier: MIT
#include "backends/etcd/settings.hpp"

#include "core/registry.hpp"

#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

constexpr std::uint16_t usual_port = 2379;

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

result<void> read_tls(const store_url& url, etcd_settings& out) {
  const auto ca = option(url, "tls_ca"), cert = option(url, "tls_cert"), key = option(url, "tls_key");
  if (url.scheme != "etcds") {
    if (ca.empty() && cert.empty() && key.empty()) return {};
    return bad("tls_ca, tls_cert and tls_key are for etcds://, not etcd://");
  }
  if (cert.empty() != key.empty()) return bad("tls_cert and tls_key go together");
  auto made = net::make_tls_context({.ca = ca, .cert = cert, .key = key, .protocol = "h2"});
  if (!made) return made.error();
  out.tls = std::move(*made);
  return {};
}

// "/locks" -> "locks/", "//locks" -> "/locks/", "" and "/" -> ""
std::string prefix_of(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return {};
  return std::string(path) + (path.ends_with('/') ? "" : "/");
}

}  // namespace

std::string endpoint::shown() const {
  return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

result<etcd_settings> read_settings(const backend_environment& environment) {
  const auto& url = environment.url;
  if (auto known = core::check_options(url, {"connect_timeout", "slashes", "timeout", "tls_ca", "tls_cert", "tls_key"});
      !known)
    return known.error();
  etcd_settings out;
  for (const auto& one : url.endpoints) out.endpoints.push_back({one.host, one.port.value_or(usual_port)});
  if (out.endpoints.empty()) return bad(url.scheme + " needs a host, as in " + url.scheme + "://localhost");
  out.prefix = prefix_of(url.path);
  if (const auto text = option(url, "slashes"); !text.empty()) {
    if (text != "keep" && text != "encode") return bad("slashes=" + text + " is neither keep nor encode");
    out.keep_slashes = text == "keep";
  }
  if (auto span = read_span(url, "timeout", out.timeout); !span) return span.error();
  if (auto span = read_span(url, "connect_timeout", out.connect_timeout); !span) return span.error();
  if (auto tls = read_tls(url, out); !tls) return tls.error();
  out.user = url.user;
  if (environment.options.password)
    out.password = environment.options.password;
  else if (!url.password.empty())
    out.password = [secret = url.password] { return secret; };
  return out;
}

}  // namespace interlock::inline v1::etcd_store
