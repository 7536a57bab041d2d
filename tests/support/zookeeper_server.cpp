// SPDX-License-Identifier: MIT
#include "support/zookeeper_server.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

namespace interlock::test_support {

using namespace std::chrono_literals;

namespace {
constexpr const char* jars =
    "/usr/share/java/zookeeper.jar:/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar:"
    "/usr/share/java/netty-transport-native-unix-common.jar";
constexpr auto start_patience = 20s;  // a start takes a second or two, or it hangs
}  // namespace

zookeeper_server::zookeeper_server(zookeeper_options options) : options_(std::move(options)), process_("java") {
  if (options_.tls) tls_port_.emplace();
  for (int tries = 1;; ++tries) {  // a stranger has taken a port that was free just now
    start({});
    try {
      await_ready();
      return;
    } catch (const std::runtime_error&) {
      if (tries == 3 || process_.running()) throw;
      port_ = reserved_port();
      if (tls_port_) tls_port_.emplace();
    }
  }
}

zookeeper_server::zookeeper_server(zookeeper_options options, const member& of)
    : options_(std::move(options)), process_("java") {
  start(of);
}

std::string zookeeper_server::url_at(int port, const std::string& rest) {
  return "zk://127.0.0.1:" + std::to_string(port) + rest;
}

// Only Netty speaks TLS, and Debian's jar does not name all parts of it. Key and certificate are one file there.
void zookeeper_server::write_tls(std::ostream& config) const {
  const auto both = process_.folder() / "key-and-certificate.pem";
  std::ofstream(both) << std::ifstream(options_.tls->key).rdbuf() << std::ifstream(options_.tls->file).rdbuf();
  config << "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\nsecureClientPort="
         << tls_port_->number() << "\nsecureClientPortAddress=127.0.0.1\nssl.keyStore.location=" << both.string()
         << "\nssl.trustStore.location=" << options_.tls->authority.string()
         << "\nssl.clientAuth=" << (options_.mutual ? "need" : "none") << "\n";
}

void zookeeper_server::start(const member& of) {
  const auto data = process_.folder() / "data";
  std::filesystem::create_directories(data);
  std::ofstream(data / "myid") << std::max(of.number, 1) << "\n";
  const auto config = process_.folder() / "zoo.cfg";
  {
    std::ofstream file(config);
    file << "tickTime=200\ninitLimit=25\nsyncLimit=50\ndataDir=" << data.string()
         << "\nclientPortAddress=127.0.0.1\nclientPort=" << port()
         << "\nadmin.enableServer=false\n4lw.commands.whitelist=*\nminSessionTimeout=400\nmaxSessionTimeout=600000\n"
            "maxClientCnxns=0\n";
    if (options_.tls) write_tls(file);
    for (const auto& line : of.all) file << line << "\n";
    for (const auto& line : options_.config) file << line << "\n";
    if (!file.flush()) throw std::runtime_error("cannot write zoo.cfg");
  }
  std::vector<std::string> words{"-Xmx192m",
                                 "-XX:+UseSerialGC",
                                 "-XX:TieredStopAtLevel=1",
                                 "-Dzookeeper.forceSync=no",
                                 "-Dzookeeper.fastleader.maxNotificationInterval=500",  // a minute otherwise
                                 "-Dznode.container.checkIntervalMs=1000",
                                 "-Dzookeeper.extendedTypesEnabled=true"};
  words.insert(words.end(), options_.java.begin(), options_.java.end());
  words.insert(words.end(), {"-cp", jars, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config.string()});
  process_.start(std::move(words));
}

void zookeeper_server::await_ready() {
  process_.await(
      "ready",
      [&] {
        if (tls_port_) ::close(connect_to_zookeeper(tls_port_->number()));  // opened after the other
        return !mode().empty();
      },
      start_patience);
}

void zookeeper_server::restart() {
  for (int tries = 1;; ++tries) {
    process_.restart();
    try {
      return await_ready();
    } catch (const std::runtime_error&) {
      if (tries == 3) throw;
    }
  }
}

void zookeeper_server::revive() {
  thaw();
  if (!running()) process_.restart();
}

void zookeeper_server::repair() {
  revive();
  try {
    await_ready();
  } catch (const std::runtime_error&) {
    restart();
  }
}

zookeeper_server& zookeeper_server::shared() {
  static zookeeper_server one;
  one.repair();
  return one;
}

bool zookeeper_server::serves(std::int64_t session) const {
  std::array<char, 32> words{};
  std::snprintf(words.data(), words.size(), "sid=0x%llx,", static_cast<unsigned long long>(session));
  return says("cons").find(words.data()) != std::string::npos;
}

// An ensemble answers "ruok" before it has a leader; "srvr" tells.
std::string zookeeper_server::mode() const {
  const auto said = says("srvr");
  const auto at = said.find("Mode: ");
  if (at == said.npos) return {};
  return said.substr(at + 6, said.find('\n', at) - at - 6);
}

zookeeper_ensemble::zookeeper_ensemble(ways among) {
  for (int tries = 1;; ++tries) {  // one that has died (a stranger took its port), or votes without end: all anew
    start(among);
    try {
      for (const auto& one : servers_) one->await_ready();
      return;
    } catch (const std::runtime_error&) {
      if (tries == 3) throw;
    }
  }
}

void zookeeper_ensemble::start(ways among) {
  constexpr std::size_t size = 3;
  servers_.clear();
  ways_.clear();
  ports_.clear();
  for (std::size_t i = 0; i < 2 * size; ++i) ports_.emplace_back();
  for (std::size_t from = 0; from < size; ++from) {
    zookeeper_server::member each{.number = static_cast<int>(from + 1)};
    auto& over = ways_.emplace_back();
    for (std::size_t to = 0; to < size; ++to) {
      auto port = ports_[2 * to].number();
      // Who has just been elected may not listen yet.
      if (among == ways::breakable && from != to)
        port = over.emplace_back(std::make_unique<tcp_proxy>(port, 1s))->port();
      each.all.push_back("server." + std::to_string(to + 1) + "=127.0.0.1:" + std::to_string(port) + ":" +
                         std::to_string(ports_[2 * to + 1].number()));
    }
    servers_.push_back(std::unique_ptr<zookeeper_server>(new zookeeper_server({}, each)));
  }
}

zookeeper_ensemble& zookeeper_ensemble::shared(ways among) {
  static std::map<ways, zookeeper_ensemble> all;
  auto& one = all.try_emplace(among, among).first->second;
  one.repair();
  return one;
}

void zookeeper_ensemble::part(const zookeeper_server& follower) {
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (servers_[i].get() == &follower)
      for (const auto& one : ways_[i]) one->cut();
}

void zookeeper_ensemble::repair() {
  for (const auto& all : ways_)
    for (const auto& one : all) one->heal();
  for (const auto& one : servers_) one->revive();  // none is ready without another
  for (const auto& one : servers_) one->repair();
}

std::string zookeeper_ensemble::url(const std::string& rest) const {
  std::string out = "zk://";
  for (const auto& one : servers_)
    out += (one == servers_.front() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(one->port());
  return out + rest;
}

zookeeper_server& zookeeper_ensemble::find(const std::string& mode) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (std::chrono::steady_clock::now() < end) {
    for (const auto& one : servers_) {
      try {
        if (one->running() && one->mode() == mode) return *one;
      } catch (const std::runtime_error&) {  // it does not listen yet
      }
    }
    std::this_thread::sleep_for(20ms);
  }
  throw std::runtime_error("no " + mode + " in the ensemble");
}

zookeeper_server& zookeeper_ensemble::leader() { return find("leader"); }
zookeeper_server& zookeeper_ensemble::follower() { return find("follower"); }

std::string zookeeper_path(const std::string& root, std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out = root + "/";
  for (const char one : name) {
    const auto byte = static_cast<unsigned char>(one);
    if (byte > ' ' && byte < 0x7f && one != '/' && one != '%') {
      out += one;
    } else {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

bool somebody_holds(zookeeper_peek& through, const std::string& path) {
  const auto has_any = [&](const std::string& folder) {
    const auto all = through.children(folder).value_or(std::vector<std::string>{});
    return std::any_of(all.begin(), all.end(),
                       [](const std::string& one) { return one != "locks" && one != "leases"; });
  };
  return has_any(path) || has_any(path + "/leases");
}

// Numbers are compared as text here: no test of this kind lives long enough for them to run over.
void remove_holders(zookeeper_peek& through, const std::string& path) {
  auto all = through.children(path).value_or(std::vector<std::string>{});
  const auto number = [](const std::string& one) { return one.size() < 10 ? one : one.substr(one.size() - 10); };
  std::erase_if(all, [](const std::string& one) { return one == "locks" || one == "leases"; });
  std::sort(all.begin(), all.end(), [&](const auto& left, const auto& right) { return number(left) < number(right); });
  for (const auto& one : all) {
    const bool reads = one.find("__READ__") != one.npos || one.find("__rlock__") != one.npos;
    if (!reads && one != all.front()) break;
    through.remove(path + "/" + one);
    if (!reads) break;
  }
  for (const auto& one : through.children(path + "/leases").value_or(std::vector<std::string>{}))
    through.remove(path + "/leases/" + one);
}

}  // namespace interlock::test_support
