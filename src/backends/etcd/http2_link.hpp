// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/http2_connection.hpp"
#include "backends/etcd/link.hpp"
#include "backends/etcd/messages.hpp"

#include "core/random.hpp"
#include "net/loan.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace interlock::inline v1::etcd_store {

class keep_stream;
class watch_stream;

/// The message with what gRPC puts before it.
template <class Message>
std::string framed(const Message& what) {
  std::string out(message_prefix, '\0');
  what.AppendToString(&out);
  put_prefix(out);
  return out;
}

class http2_link final : public link, public http2_connection::owner, public std::enable_shared_from_this<http2_link> {
 public:
  http2_link(etcd_settings settings, reactor& loop, const time_source& time);
  ~http2_link() override;

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
  int borrow() noexcept override;
  bool read() noexcept override { return loan_->read_borrowed(); }
  backend::arrival await() noexcept override { return loan_->await_borrowed(); }
  void give_back(backend::loan_end as) noexcept override { loan_.end(as); }
  void close() noexcept override;

  // For the streams.
  using way = std::shared_ptr<http2_connection>;
  /// With its first message, framed, which is taken. Why not, if not.
  result<void> begin(const exchange_ptr& what, std::string message, inline_work here);
  /// This way did not answer: take another.
  void suspect(const way& which);
  void later(milliseconds delay, unique_function<void()> work);
  [[nodiscard]] const etcd_settings& settings() const noexcept { return *settings_; }
  void stream_over(const keep_stream* which);
  void watch_over(const watch_stream* which, bool told);
  /// An answer of the cluster that answered first, and of all its history; `seen`: what seen() said before it was
  /// asked. Another one knows nothing of our claims, and gives tokens that were given before.
  [[nodiscard]] bool ours(const wire::ResponseHeader& said, revision seen);
  [[nodiscard]] revision seen();
  link_listener& listener() noexcept { return *listener_; }
  const key_range& watched() const noexcept { return watched_; }

 private:
  class call;
  template <class Response>
  class typed_call;
  /// `fixed`: a member of its own, whatever the link's way is.
  template <class Response, class Request>
  void ask(const char* method, const Request& request, unique_function<void(const call_end&, Response&)> done,
           inline_work here = inline_work::never, std::optional<std::size_t> fixed = {});
  void log_in_and_send(const std::shared_ptr<call>& one);
  void send(const std::shared_ptr<call>& one);
  void finished(const std::shared_ptr<call>& one, const call_end& how);
  void log_in(unique_function<void(const call_end&)> then);
  failure stranger();
  void start_watch();
  [[nodiscard]] std::shared_ptr<keep_stream> renewals();

  // Ways.
  void up(http2_connection& which) noexcept override;
  void leaving(http2_connection& which) noexcept override;
  void down(http2_connection& which, const failure& why) noexcept override;
  [[nodiscard]] result<way> current();
  [[nodiscard]] way connect(std::size_t endpoint);
  result<void> begin_at(std::size_t endpoint, const exchange_ptr& what, std::string message);
  void move_on(const http2_connection* from);

  const std::shared_ptr<const etcd_settings> settings_;
  reactor& loop_;
  const time_source& time_;
  net::loan<http2_connection> loan_;

  std::mutex opening_;  // a stream of renewals is not asked before it is open
  std::mutex mutex_;
  way way_;            // none: the next call makes one
  std::set<way> all_;  // also those that are being left, and those to a member of its own
  std::size_t endpoint_ = 0;
  instant moved_{};
  unsigned failures_ = 0;  // one after the other
  instant not_before_{};   // after those
  std::string wrong_;      // the last one
  core::kernel_random random_;
  std::uint64_t cluster_ = 0;  // 0: nobody has answered yet
  revision seen_ = 0;
  std::string token_;
  std::vector<unique_function<void(const call_end&)>> logging_in_;
  bool closed_ = false;
  std::shared_ptr<keep_stream> keeping_;
  std::shared_ptr<watch_stream> watching_;
  link_listener* listener_ = nullptr;
  key_range watched_;
};

failure failure_of(const call_end& how);
/// What is not etcd's answer but the lack of one.
bool lost_touch(const call_end& how) noexcept;

}  // namespace interlock::inline v1::etcd_store
