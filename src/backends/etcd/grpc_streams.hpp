// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/grpc_stream.hpp"

#include <atomic>
#include <deque>

namespace interlock::inline v1::etcd_store {

/// Renewals of leases, one stream for all. Answers come in the order of the questions, so one that is late ends the
/// stream: it would be taken for the next one's.
class keep_stream final : public grpc_stream<wire::LeaseKeepAliveRequest, wire::LeaseKeepAliveResponse> {
 public:
  explicit keep_stream(std::shared_ptr<grpc_link> from) : grpc_stream(std::move(from)) {}
  bool open() { return grpc_stream::open("/etcdserverpb.Lease/LeaseKeepAlive"); }
  /// false: the stream is over, ask another.
  bool ask(lease_id lease, completion<std::int64_t>& done);

 private:
  struct question {
    lease_id lease = 0;
    std::uint64_t number = 0;
    completion<std::int64_t> done{};
  };
  void opened() override { write_next(); }
  void came(wire::LeaseKeepAliveResponse& what) override;
  void written() override { write_next(); }
  void ended(const grpc::Status& said) override;
  void write_next();
  void overdue(std::uint64_t number);

  wire::LeaseKeepAliveRequest out_;
  std::mutex mutex_;
  std::deque<lease_id> to_write_;
  std::deque<question> open_;
  std::uint64_t asked_ = 0;
  bool writing_ = true;  // until it is open
  bool over_ = false;
};

/// The one watch of a client: deletions of all keys under its prefix, from now on. From now, because one at a past
/// revision is put aside by the server and looked after every 100 ms.
class watch_stream final : public grpc_stream<wire::WatchRequest, wire::WatchResponse> {
 public:
  explicit watch_stream(std::shared_ptr<grpc_link> from) : grpc_stream(std::move(from)) {}
  bool open();

 private:
  void opened() override { write(out_); }
  void came(wire::WatchResponse& what) override;
  void ended(const grpc::Status& said) override;

  wire::WatchRequest out_;
  std::atomic<bool> created_{false};
};

}  // namespace interlock::inline v1::etcd_store
