// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_layout.hpp"
#include "backends/redis/settings.hpp"

#include <string>
#include <string_view>

/// What the URL says: `redis://host?layout=redisson&object=rw`.
namespace interlock::inline v1::redis_store {

namespace {

using redisson::object;

std::string_view option(const store_url& url, std::string_view name, std::string_view otherwise) {
  const auto found = url.options.find(name);
  return found == url.options.end() ? otherwise : std::string_view(found->second);
}

result<redisson::settings> read(const store_url& url) {
  redisson::settings out;
  const auto name = option(url, "object", "lock");
  bool known = false;
  for (const auto one : {object::lock, object::fenced, object::rw, object::fair}) {
    if (name != to_string(one)) continue;
    out.locks = one;
    known = true;
  }
  if (!known) return bad("object=" + std::string(name) + " is none of lock, fenced, rw, fair");
  const auto token = option(url, "token", "counter");
  if (token != "counter" && token != "none") return bad("token=" + std::string(token) + " is neither counter nor none");
  const bool fenced = out.locks == object::fenced;
  if (fenced && token == "none") return bad("object=fenced is a lock with a token: token=none says it is without");
  out.tokens = token == "none" ? "none" : fenced ? "object" : "counter";
  if (const auto text = option(url, "fair_wait", ""); !text.empty()) {
    const auto span = parse_duration(text);
    if (!span) return bad("option fair_wait: " + span.error().message());
    if (*span < milliseconds{1'000}) return bad("fair_wait=" + std::string(text) + " is less than 1s");
    out.fair_wait = *span;
  }
  return out;
}

}  // namespace

result<std::unique_ptr<layout>> make_redisson_layout(const layout_environment& from) {
  const auto how = read(from.url);
  if (!how) return how.error();
  return std::unique_ptr<layout>(std::make_unique<redisson::layout>(from, *how));
}

}  // namespace interlock::inline v1::redis_store
