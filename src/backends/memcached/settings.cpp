// SPDX-License-Identifier: MIT
#include "backends/memcached/settings.hpp"

#include "core/registry.hpp"

namespace interlock::inline v1::memcached_store {
namespace {

failure bad(const std::string& text) { return failure(errc::invalid_argument, "store URL: " + text); }

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
  if (auto known = core::check_options(url, {"connect_timeout", "timeout"}); !known) return known.error();
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
