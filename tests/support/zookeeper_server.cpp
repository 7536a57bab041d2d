// SPDX-License-Identifier: MIT
#include "support/zookeeper_server.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace interlock::test_support {

using namespace std::chrono_literals;

namespace {
constexpr const char* jars =
    "/usr/share/java/zookeeper.jar:/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar:"
    "/usr/share/java/netty-transport-native-unix-common.jar";
}

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
    file << "tickTime=200\ninitLimit=100\nsyncLimit=50\ndataDir=" << data.string()
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
                                 "-Dznode.container.checkIntervalMs=1000",
                                 "-Dzookeeper.extendedTypesEnabled=true"};
  words.insert(words.end(), options_.java.begin(), options_.java.end());
  words.insert(words.end(), {"-cp", jars, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config.string()});
  process_.start(std::move(words));
}

void zookeeper_server::await_ready() {
  process_.await("ready", [&] {
    if (tls_port_) ::close(connect_to_zookeeper(tls_port_->number()));  // opened after the other
    return !mode().empty();
  });
}

void zookeeper_server::restart() {
  process_.restart();
  await_ready();
}

// An ensemble answers "ruok" before it has a leader; "srvr" tells.
std::string zookeeper_server::mode() const {
  const auto said = says("srvr");
  const auto at = said.find("Mode: ");
  if (at == said.npos) return {};
  return said.substr(at + 6, said.find('\n', at) - at - 6);
}

zookeeper_ensemble::zookeeper_ensemble() {
  zookeeper_server::member each;
  for (int i = 1; i <= 3; ++i) {
    ports_.emplace_back();
    ports_.emplace_back();
    each.all.push_back("server." + std::to_string(i) + "=127.0.0.1:" + std::to_string((ports_.end() - 2)->number()) +
                       ":" + std::to_string(ports_.back().number()));
  }
  for (int i = 1; i <= 3; ++i) {
    each.number = i;
    servers_.push_back(std::unique_ptr<zookeeper_server>(new zookeeper_server({}, each)));
  }
  for (const auto& one : servers_) one->await_ready();
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
