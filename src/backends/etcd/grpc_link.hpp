// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/link.hpp"
#include "backends/etcd/mailbox.hpp"
#include "backends/etcd/messages.hpp"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/async_unary_call.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

/// Heavy to include: for the files that talk to gRPC, and no other.
namespace interlock::inline v1::etcd_store {

class keep_stream;
class watch_stream;

class grpc_link final : public link, public std::enable_shared_from_this<grpc_link> {
 public:
  grpc_link(etcd_settings settings, reactor& loop, const time_source& time);
  ~grpc_link() override;

  using link::commit;
  void commit(const transaction& what, inline_work here, completion<outcome> done) override;
  void grant(std::int64_t seconds, completion<granted_lease> done) override;
  void revoke(lease_id lease, completion<bool> done) override;
  void keep_alive(lease_id lease, completion<std::int64_t> done) override;
  void time_to_live(lease_id lease, completion<std::int64_t> done) override;
  void status(std::size_t endpoint, completion<member_status> done) override;
  void view(completion<cluster_view> done) override;
  void other_way() override;
  void watch(key_range keys, link_listener& to) override;
  int borrow() noexcept override { return mail_.borrow(); }
  backend::arrival await() noexcept override { return mail_.await(); }
  void give_back(backend::loan_end as) noexcept override { mail_.give_back(as); }
  void close() noexcept override;

  // For the calls and streams.
  struct way {
    std::shared_ptr<grpc::Channel> channel{};
    std::uint64_t number = 0;  ///< rises with every change
  };
  /// Counts a call as under way; an empty channel: this link is closed.
  way begin(std::shared_ptr<grpc::ClientContext> context, bool with_deadline);
  /// The last that a call does here. It must have let go of its context: what is left of the channel when close() has
  /// seen this is given up there.
  void end(const grpc::ClientContext* context) noexcept;
  /// This way did not answer: take another.
  void suspect(std::uint64_t number);
  void later(milliseconds delay, unique_function<void()> work);
  [[nodiscard]] const etcd_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] bool closed();
  [[nodiscard]] grpc::CompletionQueue& answers() noexcept { return mail_.queue(); }
  void stream_over(const keep_stream* which);
  void watch_over(const watch_stream* which, bool told);
  /// An answer of the cluster that answered first, and of all its history; `seen`: what seen() said before it was
  /// asked. Another one knows nothing of our claims, and gives tokens that were given before.
  [[nodiscard]] bool ours(const wire::ResponseHeader& said, revision seen);
  [[nodiscard]] revision seen();
  link_listener& listener() noexcept { return *listener_; }
  const key_range& watched() const noexcept { return watched_; }

 private:
  template <class Request, class Response>
  struct unary;
  template <class Request, class Response>
  void call(const char* method, Request request, unique_function<void(const grpc::Status&, Response&)> done,
            inline_work here = inline_work::never, std::shared_ptr<grpc::Channel> fixed = {});
  template <class Request, class Response>
  void start(const std::shared_ptr<unary<Request, Response>>& one);
  template <class Request, class Response>
  void finished(const std::shared_ptr<unary<Request, Response>>& one) noexcept;
  failure stranger();
  void log_in(unique_function<void(const grpc::Status&)> then);
  void start_watch();
  [[nodiscard]] std::shared_ptr<keep_stream> renewals();
  [[nodiscard]] std::shared_ptr<grpc::Channel> make_channel(const std::string& endpoint) const;

  const etcd_settings settings_;
  reactor& loop_;
  const time_source& time_;
  mailbox mail_;

  std::mutex opening_;  // a stream of renewals is not asked before it is open
  std::mutex mutex_;
  std::condition_variable idle_;
  way way_;
  std::size_t endpoint_ = 0;
  instant moved_{};
  std::uint64_t cluster_ = 0;  // 0: nobody has answered yet
  revision seen_ = 0;
  std::string token_;
  std::vector<unique_function<void(const grpc::Status&)>> logging_in_;
  std::map<const grpc::ClientContext*, std::shared_ptr<grpc::ClientContext>> under_way_;
  std::size_t count_ = 0;  // of those that have not ended
  bool closed_ = false;
  std::shared_ptr<keep_stream> keeping_;
  std::shared_ptr<watch_stream> watching_;
  link_listener* listener_ = nullptr;
  key_range watched_;
};

failure failure_of(const grpc::Status& said);
/// What is not etcd's answer but the lack of one.
bool lost_touch(const grpc::Status& said) noexcept;

}  // namespace interlock::inline v1::etcd_store
