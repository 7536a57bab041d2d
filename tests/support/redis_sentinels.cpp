// SPDX-License-Identifier: MIT
#include "support/redis_sentinels.hpp"

#include "support/eventually.hpp"

#include <stdexcept>

namespace interlock::test_support {
namespace {

// Redis 7 lets sentinels talk more often than every two and ten seconds, so that tests do not wait for them to meet.
const redis_peek::words often{"SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200", "ASK-PERIOD", "200"};

redis_options watching(const redis_server& master, const std::string& password) {
  const std::string name = redis_sentinels::name;
  redis_options out{.program = "redis-sentinel"};
  out.config = {"sentinel monitor " + name + " 127.0.0.1 " + std::to_string(master.port()) + " 2",
                "sentinel down-after-milliseconds " + name + " 1000", "sentinel failover-timeout " + name + " 5000"};
  if (!password.empty()) out.config.push_back("sentinel auth-pass " + name + " " + password);
  return out;
}

// Of a reply that lists names and values in turn.
std::string field(const redis_value& pairs, std::string_view name) {
  for (std::size_t at = 0; at + 1 < pairs.size(); at += 2) {
    if (pairs[at] == name) return pairs[at + 1].text;
  }
  return {};
}

}  // namespace

redis_sentinels::redis_sentinels(const redis_options& options, const std::vector<std::string>& more)
    : password_(options.password), servers_(2, options) {
  auto plan = watching(servers_.master(), options.password);
  plan.config.insert(plan.config.end(), more.begin(), more.end());
  for (auto& one : sentinels_) {
    one = std::make_unique<redis_server>(plan);
    one->command(often);
  }
  for (const auto& one : sentinels_) await("the sentinels know each other", [&] { return complete(*one); });
}

bool redis_sentinels::complete(const redis_server& sentinel) const {
  const auto seen = sentinel.command({"SENTINEL", "MASTER", name});
  return field(seen, "num-slaves") == "2" && field(seen, "num-other-sentinels") == "2" &&
         field(seen, "flags") == "master" && sentinel.ask({"SENTINEL", "CKQUORUM", name}).text.starts_with("OK 3 ");
}

std::string redis_sentinels::url(const std::string& query) const {
  return url_as(password_.empty() ? "" : ":" + password_, query);
}

std::string redis_sentinels::url_as(const std::string& credentials, const std::string& query) const {
  std::string hosts;
  for (const auto& one : sentinels_)
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(one->port());
  return "redis+sentinel://" + (credentials.empty() ? "" : credentials + "@") + hosts + "/" + name +
         (query.empty() ? "" : "?" + query);
}

redis_server& redis_sentinels::server(std::size_t index) {
  return index == 0 ? servers_.master() : servers_.replica(index - 1);
}

int redis_sentinels::master_port(const redis_server& sentinel) const {
  return std::stoi(sentinel.command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name})[1].text);
}

redis_server* redis_sentinels::agreed_master() {
  int port = 0;
  for (const auto& one : sentinels_) {
    if (!one->answers()) continue;
    const int said = master_port(*one);
    if (port != 0 && said != port) return nullptr;
    port = said;
  }
  for (std::size_t index = 0; index < 3; ++index) {
    if (server(index).port() == port) return &server(index);
  }
  return nullptr;
}

redis_server& redis_sentinels::master() {
  redis_server* found = nullptr;
  await("the sentinels agree on a master", [&] { return (found = agreed_master()) != nullptr; });
  return *found;
}

redis_server& redis_sentinels::await_master_other_than(const redis_server& old) {
  redis_server* found = nullptr;
  await("the sentinels agree on another master", [&] {
    found = agreed_master();
    return found != nullptr && found != &old && found->answers() && found->command({"ROLE"})[0] == "master";
  });
  return *found;
}

redis_server& redis_sentinels::failover() {
  auto& old = master();
  for (const auto& one : sentinels_) {
    if (!one->answers()) continue;
    await("a sentinel starts a failover", [&] { return one->ask({"SENTINEL", "FAILOVER", name}) == "OK"; });
    return await_master_other_than(old);
  }
  throw std::logic_error("no sentinel answers");
}

}  // namespace interlock::test_support
