// SPDX-License-Identifier: MIT
#pragma once

#include "support/certificates.hpp"
#include "support/reserved_port.hpp"
#include "support/server_process.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace interlock::test_support {

struct etcd_options {
  /// More arguments: "--auto-compaction-retention=1". They come behind ours.
  std::vector<std::string> arguments{};
  /// Clients must come by TLS, and show a certificate of the same authority if `mutual`.
  std::optional<certificate> tls{};
  bool mutual = false;
  int members = 1;
};

/// One etcd member, or several that make a cluster, each with ports and a folder of its own.
class etcd_server {
 public:
  /// All answer when this returns, about half a second later.
  explicit etcd_server(etcd_options options = {});

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] int port(std::size_t member = 0) const { return members_.at(member)->client.number(); }
  /// Of all members but removed ones. `path` as in "/locks", `query` as in "timeout=1s".
  [[nodiscard]] std::string url(const std::string& path = {}, const std::string& query = {}) const;
  [[nodiscard]] std::string url_at(int port, const std::string& path = {}, const std::string& query = {}) const;

  /// What etcdctl prints when asked so, behind interlock's back; throws what it complains about.
  std::string control(const std::vector<std::string>& words) const;
  /// The arguments that lead etcdctl to these servers.
  [[nodiscard]] std::vector<std::string> control_arguments() const;
  /// How many calls of this method ("Txn") the first member has had, by its own count.
  [[nodiscard]] int requests(const std::string& method) const;
  /// These two need --strict-reconfig-check=false, since members do not trust each other for the first seconds.
  /// Takes a member out of the cluster, for good; its process ends. The others keep their numbers.
  void remove_member(std::size_t member);
  /// Another one, which answers when this returns. Its number is size() - 1.
  void add_member();
  /// Which member leads now.
  [[nodiscard]] std::size_t leader() const;

  /// Comes back with nothing it knew; `cluster`: as another one, or as what it was.
  void restart_empty(const std::string& cluster);

  void kill(std::size_t member) { members_.at(member)->process.kill(); }
  void freeze(std::size_t member) { members_.at(member)->process.freeze(); }
  void thaw(std::size_t member) { members_.at(member)->process.thaw(); }
  void restart(std::size_t member);
  [[nodiscard]] server_process& process(std::size_t member = 0) { return members_.at(member)->process; }

 private:
  struct node {
    reserved_port client{}, peers{};
    server_process process{"etcd"};
    bool removed = false;
  };
  void start();
  void await_all();
  [[nodiscard]] std::string peers_of(std::size_t which) const;
  [[nodiscard]] std::vector<std::string> arguments(std::size_t which) const;
  void await_one(std::size_t which);
  void change(const std::vector<std::string>& words, const std::string& done) const;
  [[nodiscard]] std::string endpoint(std::size_t which) const;

  etcd_options options_;
  std::vector<std::unique_ptr<node>> members_;
};

/// The keys of one name, in order of creation.
class etcd_line {
 public:
  etcd_line(const etcd_server& server, std::string prefix, std::string_view name);
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] bool somebody_holds() const { return !keys().empty(); }
  /// The oldest; if it reads, all that read with it.
  void remove_holders() const;

 private:
  const etcd_server& server_;
  std::string start_;
};

}  // namespace interlock::test_support
