// SPDX-License-Identifier: MIT
#include "backends/zookeeper/settings.hpp"

#include "core/registry.hpp"
#include "net/stream.hpp"

#include <optional>

namespace interlock::inline v1::zookeeper_store {
namespace {

failure bad(const std::string& text) { return failure(errc::invalid_argument, "store URL: " + text); }

std::string option(const store_url& url, std::string_view name) {
  const auto found = url.options.find(name);
  return found == url.options.end() ? std::string{} : found->second;
}

// "/a/b": what ZooKeeper calls a path, or empty.
result<std::string> root_of(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  if (path.empty()) return path;
  for (std::size_t at = 0; at < path.size();) {
    const auto next = std::min(path.find('/', at + 1), path.size());
    const auto part = std::string_view(path).substr(at + 1, next - at - 1);
    if (part.empty() || part == "." || part == "..") return bad("the path \"" + path + "\" has an empty part, . or ..");
    at = next;
  }
  for (const char one : path)
    if (static_cast<unsigned char>(one) < ' ' || one == '\x7f') return bad("the path has control characters");
  return path;
}

result<const recipe*> recipe_of(const store_url& url) {
  const auto layout = option(url, "layout"), object = option(url, "object");
  if (layout == "kazoo") {
    if (!object.empty()) return bad("object is for layout=curator; kazoo's locks are all alike");
    return &kazoo_lock;
  }
  if (!layout.empty() && layout != "curator") return bad("layout=" + layout + " is none of curator, kazoo");
  if (object.empty() || object == "mutex") return &curator_mutex;
  if (object == "rw") return &curator_rw;
  if (object == "latch") return &curator_latch;
  return bad("object=" + object + " is none of latch, mutex, rw");
}

}  // namespace

result<zookeeper_settings> read_settings(const backend_environment& environment) {
  const auto& url = environment.url;
  if (auto known = core::check_options(url, {"connect_timeout", "layout", "object", "tls_ca", "tls_cert", "tls_key"});
      !known)
    return known.error();
  zookeeper_settings out;
  const std::uint16_t port = url.scheme == "zks" ? 2281 : 2181;
  for (const auto& one : url.endpoints)
    out.common.servers.push_back({.host = one.host, .port = one.port.value_or(port)});
  if (out.common.servers.empty()) return bad("zk: needs a host, as in zk://localhost or zk://h1,h2,h3/chroot");
  auto root = root_of(url.path);
  if (!root) return root.error();
  out.root = std::move(*root);
  auto how = recipe_of(url);
  if (!how) return how.error();
  out.how = *how;
  if (const auto text = option(url, "connect_timeout"); !text.empty()) {
    const auto span = parse_duration(text);
    if (!span) return bad("option connect_timeout: " + span.error().message());
    if (*span < milliseconds{10}) return bad("connect_timeout=" + text + " is less than 10ms");
    out.common.connect_timeout = *span;
  }
  out.lease = environment.options.lease.value_or(out.lease);
  const net::tls_settings tls{
      .ca = option(url, "tls_ca"), .cert = option(url, "tls_cert"), .key = option(url, "tls_key")};
  if (url.scheme == "zks") {
    auto made = net::make_tls_context(tls);
    if (!made) return made.error();
    out.common.tls = std::move(*made);
  } else if (!tls.ca.empty() || !tls.cert.empty() || !tls.key.empty()) {
    return bad("tls_ca, tls_cert and tls_key are for zks://, not zk://");
  }
  if (!url.user.empty()) {
    out.whose = rights::creator;
    auto password = environment.options.password ? environment.options.password
                                                 : [secret = url.password]() -> std::string { return secret; };
    out.common.credentials = [user = url.user, password = std::move(password)] { return user + ":" + password(); };
  } else if (!url.password.empty() || environment.options.password) {
    return bad("a password needs a user: zk://user:password@host");
  }
  return out;
}

}  // namespace interlock::inline v1::zookeeper_store
