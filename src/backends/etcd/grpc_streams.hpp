// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/grpc_link.hpp"

#include <grpcpp/support/client_callback.h>

#include <atomic>

namespace interlock::inline v1::etcd_store {

/// Renewals of leases, one stream for all. Answers come in the order of the questions, so one that is late ends the
/// stream: it would be taken for the next one's.
class keep_stream final : public grpc::ClientBidiReactor<wire::LeaseKeepAliveRequest, wire::LeaseKeepAliveResponse>,
                          public std::enable_shared_from_this<keep_stream> {
 public:
  explicit keep_stream(std::shared_ptr<grpc_link> from) : from_(std::move(from)) {}
  /// false: there is no way, and nothing will come.
  bool open();
  /// false: the stream is over, ask another.
  bool ask(lease_id lease, completion<std::int64_t>& done);
  void cancel() { context_.TryCancel(); }

 private:
  struct question {
    lease_id lease = 0;
    std::uint64_t number = 0;
    completion<std::int64_t> done{};
  };
  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& said) override;
  void write_next();
  void overdue(std::uint64_t number);

  const std::shared_ptr<grpc_link> from_;
  grpc::ClientContext context_;
  wire::LeaseKeepAliveRequest out_;
  wire::LeaseKeepAliveResponse in_;
  std::uint64_t way_ = 0;

  std::mutex mutex_;
  std::shared_ptr<keep_stream> self_;  // until gRPC is done with it
  std::deque<lease_id> to_write_;
  std::deque<question> open_;
  std::uint64_t asked_ = 0;
  bool writing_ = false;
  bool over_ = false;
};

/// The one watch of a client: deletions of all keys under its prefix, from now on. From now, because one at a past
/// revision is put aside by the server and looked after every 100 ms.
class watch_stream final : public grpc::ClientBidiReactor<wire::WatchRequest, wire::WatchResponse>,
                           public std::enable_shared_from_this<watch_stream> {
 public:
  explicit watch_stream(std::shared_ptr<grpc_link> from) : from_(std::move(from)) {}
  bool open();
  void cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& said) override;
  bool take();

  const std::shared_ptr<grpc_link> from_;
  grpc::ClientContext context_;
  wire::WatchRequest out_;
  wire::WatchResponse in_;
  std::uint64_t way_ = 0;
  std::shared_ptr<watch_stream> self_;
  std::atomic<bool> created_{false};
};

}  // namespace interlock::inline v1::etcd_store
