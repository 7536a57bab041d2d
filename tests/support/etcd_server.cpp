// SPDX-License-Identifier: MIT
#include "support/etcd_server.hpp"

#include "support/agent.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace interlock::test_support {

namespace {

using json = nlohmann::json;

std::string unbase64(const std::string& text) {
  static const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0, have = 0;
  for (const char c : text) {
    const auto at = alphabet.find(c);
    if (at == alphabet.npos) break;
    bits = (bits << 6 | static_cast<unsigned>(at)) & 0xffffffU;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 0xff);
  }
  return out;
}

// Its complaints come with its answers.
agent run_control(std::vector<std::string> words) {
  words.insert(words.begin(), {"-c", "exec etcdctl \"$@\" 2>&1", "etcdctl"});
  return {"/bin/sh", std::move(words)};
}

}  // namespace

etcd_server::etcd_server(etcd_options options) : options_(std::move(options)) {
  for (int tries = 1;; ++tries) {
    members_.clear();
    for (int i = 0; i < options_.members; ++i) members_.push_back(std::make_unique<node>());
    try {
      start();
      return;
    } catch (const std::runtime_error& error) {  // a stranger has taken a port that was free just now
      if (tries == 5 || std::string(error.what()).find("address already in use") == std::string::npos) throw;
    }
  }
}

std::string etcd_server::endpoint(std::size_t which) const {
  return (options_.tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port(which));
}

std::string etcd_server::peers_of(std::size_t which) const {
  return "http://127.0.0.1:" + std::to_string(members_.at(which)->peers.number());
}

std::vector<std::string> etcd_server::arguments(std::size_t which) const {
  std::string all;
  for (std::size_t i = 0; i < size(); ++i)
    if (!members_[i]->removed) all += (all.empty() ? "m" : ",m") + std::to_string(i) + "=" + peers_of(i);
  const auto peers = peers_of(which);
  std::vector<std::string> out{"--name=m" + std::to_string(which),
                               "--data-dir=" + (members_[which]->process.folder() / "data").string(),
                               "--listen-client-urls=" + endpoint(which),
                               "--advertise-client-urls=" + endpoint(which),
                               "--listen-peer-urls=" + peers,
                               "--initial-advertise-peer-urls=" + peers,
                               "--initial-cluster=" + all,
                               "--initial-cluster-token=" + all,
                               "--logger=zap",
                               "--log-level=error",
                               "--unsafe-no-fsync"};
  if (options_.tls) {
    out.push_back("--cert-file=" + options_.tls->file.string());
    out.push_back("--key-file=" + options_.tls->key.string());
    out.push_back("--trusted-ca-file=" + options_.tls->authority.string());
    if (options_.mutual) out.emplace_back("--client-cert-auth");
  }
  out.insert(out.end(), options_.arguments.begin(), options_.arguments.end());
  return out;
}

void etcd_server::start() {
  for (std::size_t i = 0; i < size(); ++i) members_[i]->process.start(arguments(i));
  await_all();
}

void etcd_server::await_all() {
  for (std::size_t i = 0; i < size(); ++i)
    if (!members_[i]->removed) await_one(i);
}

void etcd_server::await_one(std::size_t which) {
  members_[which]->process.await("ready", [&] {
    if (options_.tls && !options_.mutual)  // the certificate may be a bad one, which etcdctl would not bear
      return agent("/bin/bash", {"-c", "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port(which))}).wait() == 0;
    auto words = control_arguments();
    words[0] = "--endpoints=" + endpoint(which);
    words.insert(words.end(), {"--command-timeout=1s", "endpoint", "health"});
    auto one = run_control(words);
    while (one.line()) {
    }
    return one.wait() == 0;
  });
}

int etcd_server::requests(const std::string& method) const {
  agent metrics("/bin/bash", {"-c", "exec 3<>/dev/tcp/127.0.0.1/" + std::to_string(port()) +
                                        "; printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"});
  const auto wanted = "grpc_server_started_total{grpc_method=\"" + method + "\"";
  int sum = 0;
  while (const auto line = metrics.line())
    if (line->starts_with(wanted)) sum += std::stoi(line->substr(line->find_last_of(' ')));
  return sum;
}

// A leader that is taken out is followed by an election, and what is asked meanwhile may time out, done or not.
void etcd_server::change(const std::vector<std::string>& words, const std::string& done) const {
  for (int tries = 1;; ++tries) try {
      control(words);
      return;
    } catch (const std::runtime_error& error) {
      const std::string said = error.what();
      if (tries > 1 && said.find(done) != said.npos) return;
      const bool late = said.find("Unavailable") != said.npos || said.find("DeadlineExceeded") != said.npos;
      if (tries == 10 || !late) throw;
    }
}

void etcd_server::remove_member(std::size_t member) {
  std::istringstream lines(control({"member", "list"}));
  for (std::string line; std::getline(lines, line);)
    if (line.find(", m" + std::to_string(member) + ",") != line.npos) {
      members_.at(member)->removed = true;
      change({"member", "remove", line.substr(0, line.find(','))}, "member not found");
    }
  members_.at(member)->process.kill();
}

void etcd_server::add_member() {
  members_.push_back(std::make_unique<node>());
  const auto which = size() - 1;
  members_[which]->removed = true;  // it does not answer yet
  change({"member", "add", "m" + std::to_string(which), "--peer-urls=" + peers_of(which)}, "Peer URLs already exists");
  members_[which]->removed = false;
  auto words = arguments(which);
  words.emplace_back("--initial-cluster-state=existing");
  members_[which]->process.start(std::move(words));
  await_one(which);
}

void etcd_server::restart_empty(const std::string& cluster) {
  auto& one = members_.at(0)->process;
  one.kill();
  std::filesystem::remove_all(one.folder() / "data");
  auto words = arguments(0);
  if (!cluster.empty()) words.push_back("--initial-cluster-token=" + cluster);
  one.start(std::move(words));
  await_all();
}

void etcd_server::restart(std::size_t which) {
  members_.at(which)->process.restart();
  await_all();
}

std::string etcd_server::url(const std::string& path, const std::string& query) const {
  std::string out = options_.tls ? "etcds://" : "etcd://";
  bool first = true;
  for (std::size_t i = 0; i < size(); ++i)
    if (!members_[i]->removed)
      out += (std::exchange(first, false) ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port(i));
  return out + path + (query.empty() ? "" : "?" + query);
}

std::string etcd_server::url_at(int port, const std::string& path, const std::string& query) const {
  return (options_.tls ? "etcds://127.0.0.1:" : "etcd://127.0.0.1:") + std::to_string(port) + path +
         (query.empty() ? "" : "?" + query);
}

std::vector<std::string> etcd_server::control_arguments() const {
  std::string all;
  for (std::size_t i = 0; i < size(); ++i)
    if (!members_[i]->removed) all += (all.empty() ? "" : ",") + endpoint(i);
  std::vector<std::string> out{"--endpoints=" + all};
  if (options_.tls) {
    out.push_back("--cacert=" + options_.tls->authority.string());
    if (options_.mutual) {
      out.push_back("--cert=" + options_.tls->file.string());
      out.push_back("--key=" + options_.tls->key.string());
    }
  }
  return out;
}

std::string etcd_server::control(const std::vector<std::string>& words) const {
  auto all = control_arguments();
  all.insert(all.end(), words.begin(), words.end());
  auto one = run_control(all);
  std::string out;
  while (const auto line = one.line()) out += *line + "\n";
  if (one.wait() != 0) throw std::runtime_error("etcdctl " + words.at(0) + " failed: " + out);
  return out;
}

std::size_t etcd_server::leader() const {
  const auto all = json::parse(control({"endpoint", "status", "-w", "json"}));
  for (const auto& one : all) {
    const auto& said = one.at("Status");
    if (said.at("leader") != said.at("header").at("member_id")) continue;
    for (std::size_t i = 0; i < size(); ++i)
      if (one.at("Endpoint") == endpoint(i)) return i;
  }
  throw std::runtime_error("no etcd member leads");
}

etcd_line::etcd_line(const etcd_server& server, std::string prefix, std::string_view name)
    : server_(server), start_(std::move(prefix)) {
  for (const char c : name) start_ += c == '%' ? "%25" : c == '/' ? "%2F" : std::string(1, c);
  start_ += '/';
}

std::vector<std::string> etcd_line::keys() const {
  std::vector<std::string> out;
  std::istringstream lines(
      server_.control({"get", start_, "--prefix", "--keys-only", "--sort-by=CREATE", "--order=ASCEND"}));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) out.push_back(line);
  return out;
}

void etcd_line::remove_holders() const {
  const auto all = json::parse(server_.control({"get", start_, "--prefix", "--sort-by=CREATE", "-w", "json"}));
  if (!all.contains("kvs")) return;
  bool first = true;
  for (const auto& kv : all.at("kvs")) {
    const auto value = unbase64(kv.value("value", ""));
    const bool reads = value.starts_with("interlock1 s ");
    if (!first && !reads) return;
    server_.control({"del", unbase64(kv.at("key"))});
    if (!std::exchange(first, false) && !reads) return;
    if (!reads) return;
  }
}

}  // namespace interlock::test_support
