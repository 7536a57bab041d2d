// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/messages.hpp"

#include <grpcpp/channel.h>

#include <memory>
#include <string>

namespace bench {

/// What the store sends for an acquire and a release that nobody disturbs, by blocking calls of gRPC: what the code it
/// generates would do.
class raw_etcd {
 public:
  raw_etcd(const std::string& address, const std::string& name);
  void acquire();
  void release();

 private:
  std::int64_t ask(const interlock::etcd_store::wire::TxnRequest& what);

  std::shared_ptr<grpc::Channel> channel_;
  interlock::etcd_store::wire::TxnRequest acquire_, release_;
};

}  // namespace bench
