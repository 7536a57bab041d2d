// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/http2_link.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

namespace interlock::inline v1::etcd_store {

/// Messages both ways, as long as the way to a member lasts.
class stream : public exchange {
 public:
  void cancel() {
    if (const auto on = along()) on->cancel(shared_from_this());
  }

 protected:
  stream(std::shared_ptr<http2_link> from, const char* method)
      : exchange(kind::stream, method), from_(std::move(from)) {}
  [[nodiscard]] http2_link& from() const noexcept { return *from_; }

 private:
  const std::shared_ptr<http2_link> from_;
};

/// Renewals of leases, one stream for all. Answers come in the order of the questions, so one that is late ends the
/// stream: it would be taken for the next one's.
class keep_stream final : public stream {
 public:
  explicit keep_stream(std::shared_ptr<http2_link> from)
      : stream(std::move(from), "/etcdserverpb.Lease/LeaseKeepAlive") {}
  /// false: there is no way.
  bool open() { return from().begin(shared_from_this(), {}, inline_work::never).has_value(); }
  /// false: the stream is over, ask another.
  bool ask(lease_id lease, completion<std::int64_t>& done);

 private:
  struct question {
    lease_id lease = 0;
    std::uint64_t number = 0;
    completion<std::int64_t> done{};
  };
  void came(std::string_view message) override;
  void ended(const call_end& how) override;
  void overdue(std::uint64_t number);

  std::mutex mutex_;
  std::deque<question> open_;
  std::uint64_t asked_ = 0;
  bool over_ = false;
};

/// The one watch of a client: deletions of all keys under its prefix, from now on. From now, because one at a past
/// revision is put aside by the server and looked after every 100 ms.
class watch_stream final : public stream {
 public:
  explicit watch_stream(std::shared_ptr<http2_link> from) : stream(std::move(from), "/etcdserverpb.Watch/Watch") {}
  bool open();

 private:
  void came(std::string_view message) override;
  void ended(const call_end& how) override;

  std::atomic<bool> created_{false};
};

}  // namespace interlock::inline v1::etcd_store
