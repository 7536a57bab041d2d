// SPDX-License-Identifier: MIT
#include "backends/etcd/http2_link.hpp"

#include <algorithm>
#include <exception>
#include <utility>

/// Questions that have one answer. Which member they go to is in ways.cpp.
namespace interlock::inline v1::etcd_store {
namespace {

bool login_ran_out(const call_end& how) {
  if (how.is != call_end::kind::answered) return false;
  if (how.code == grpc_code::unauthenticated) return true;
  const auto& text = how.words;
  return text.find("user name is empty") != text.npos || text.find("invalid auth token") != text.npos ||
         text.find("revision of auth store is old") != text.npos;
}

}  // namespace

revision http2_link::seen() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

bool http2_link::ours(const wire::ResponseHeader& said, revision seen) {
  const std::lock_guard lock(mutex_);
  if (cluster_ == 0) cluster_ = said.cluster_id();
  if (said.cluster_id() != cluster_ || said.revision() < seen) return false;
  seen_ = std::max(seen_, said.revision());
  return true;
}

class http2_link::call : public exchange {
 public:
  call(std::shared_ptr<http2_link> link, const char* method, std::string request)
      : exchange(kind::one_question, method), from(std::move(link)), question(std::move(request)) {}

  virtual void answer(const call_end& how) = 0;
  void ended(const call_end& how) override { from->finished(std::static_pointer_cast<call>(shared_from_this()), how); }

  [[nodiscard]] way taken() const noexcept { return along(); }

  const std::shared_ptr<http2_link> from;
  std::string question;
  inline_work here = inline_work::never;
  std::optional<std::size_t> fixed{};
  bool logged_in = false;
};

template <class Response>
class http2_link::typed_call final : public call {
 public:
  typed_call(std::shared_ptr<http2_link> link, const char* method, std::string request,
             unique_function<void(const call_end&, Response&)> then)
      : call(std::move(link), method, std::move(request)), done_(std::move(then)) {}

  void came(std::string_view message) override {
    whole_ = ++messages_ == 1 && response_.ParseFromArray(message.data(), static_cast<int>(message.size()));
  }
  void answer(const call_end& how) override {
    auto tell = std::move(done_);  // and what it holds ends here, not wherever this call is forgotten
    if (how.ok() && !whole_) return tell({.words = "its answer makes no sense"}, response_);
    tell(how, response_);
  }

 private:
  unique_function<void(const call_end&, Response&)> done_;
  Response response_{};
  int messages_ = 0;
  bool whole_ = false;
};

template <class Response, class Request>
void http2_link::ask(const char* method, const Request& request, unique_function<void(const call_end&, Response&)> done,
                     inline_work here, std::optional<std::size_t> fixed) {
  const auto one = std::make_shared<typed_call<Response>>(shared_from_this(), method, framed(request), std::move(done));
  one->here = here;
  one->fixed = fixed;
  bool first = false;
  if (!settings_->user.empty()) {
    const std::lock_guard lock(mutex_);
    first = token_.empty();
  }
  if (first)
    log_in_and_send(one);
  else
    send(one);
}

void http2_link::log_in_and_send(const std::shared_ptr<call>& one) {
  one->logged_in = true;
  log_in([self = shared_from_this(), one](const call_end& in) {
    if (in.ok()) return self->send(one);
    one->answer(in);
  });
}

void http2_link::send(const std::shared_ptr<call>& one) {
  // Who has a login may have to ask again with another.
  auto question = settings_->user.empty() ? std::move(one->question) : one->question;
  const auto begun =
      one->fixed ? begin_at(*one->fixed, one, std::move(question)) : begin(one, std::move(question), one->here);
  if (begun) return;
  // Not here: the caller may be one of many who ask when the one before them was answered.
  const auto tell = [one, words = begun.error().message()] {
    one->answer({.is = call_end::kind::never_sent, .words = words});
  };
  if (begun.error() == errc::closed) return tell();
  loop_.post(tell);
}

void http2_link::finished(const std::shared_ptr<call>& one, const call_end& how) {
  if (!settings_->user.empty() && login_ran_out(how) && !one->logged_in) {
    {
      const std::lock_guard lock(mutex_);
      token_.clear();
    }
    return log_in_and_send(one);
  }
  if (lost_touch(how) && !one->fixed) suspect(one->taken());
  one->answer(how);
}

// One at a time: whoever comes meanwhile waits for the same answer.
void http2_link::log_in(unique_function<void(const call_end&)> then) {
  {
    const std::lock_guard lock(mutex_);
    logging_in_.push_back(std::move(then));
    if (logging_in_.size() > 1) return;
  }
  using response = wire::AuthenticateResponse;
  const auto tell = [self = shared_from_this()](const call_end& how, response& got) {
    std::vector<unique_function<void(const call_end&)>> waiting;
    {
      const std::lock_guard lock(self->mutex_);
      if (how.ok()) self->token_ = got.token();
      waiting.swap(self->logging_in_);
    }
    for (auto& each : waiting) each(how);
  };
  wire::AuthenticateRequest who;
  who.set_name(settings_->user);
  try {
    if (settings_->password) who.set_password(settings_->password());
  } catch (const std::exception& wrong) {
    response none;
    return tell({.is = call_end::kind::answered,
                 .code = grpc_code::unauthenticated,
                 .words = std::string("no password: ") + wrong.what()},
                none);
  }
  const auto one =
      std::make_shared<typed_call<response>>(shared_from_this(), "/etcdserverpb.Auth/Authenticate", framed(who), tell);
  one->logged_in = true;
  send(one);
}

// ---- what etcd says, in our words

bool lost_touch(const call_end& how) noexcept {
  if (how.is == call_end::kind::unanswered) return true;
  return how.is == call_end::kind::answered &&
         (how.code == grpc_code::unavailable || how.code == grpc_code::deadline_exceeded);
}

failure failure_of(const call_end& how) {
  const auto words = "etcd: " + how.words;
  if (how.is == call_end::kind::never_sent) return failure(errc::unavailable, words);
  if (how.is == call_end::kind::unanswered) return failure(errc::indeterminate, words);
  const auto says = [&](const char* part) { return how.words.find(part) != how.words.npos; };
  switch (how.code) {
    case grpc_code::permission_denied:
    case grpc_code::unauthenticated:
    case grpc_code::failed_precondition: return failure(errc::denied, words);
    case grpc_code::not_found: return failure(errc::lost, words);  // of leases
    case grpc_code::resource_exhausted: return failure(errc::unavailable, words);
    case grpc_code::invalid_argument:
      return failure(says("authentication failed") || says("user name") ? errc::denied : errc::internal, words);
    case grpc_code::deadline_exceeded: return failure(errc::indeterminate, "etcd: no answer in time");
    default: break;
  }
  // Refused before anything was done.
  return failure(says("no leader") ? errc::unavailable : errc::indeterminate, words);
}

failure http2_link::stranger() {
  other_way();
  return failure(
      errc::unavailable,
      "etcd: another cluster answers than before, or one that has lost its data: it does not know our locks, "
      "and its tokens may have been given before. Connect again when all holders have stopped");
}

void http2_link::commit(const transaction& what, inline_work here, completion<outcome> done) {
  wire::TxnRequest request;
  write(what, request);
  ask<wire::TxnResponse>(
      "/etcdserverpb.KV/Txn", request,
      [self = shared_from_this(), seen = seen(), done = std::move(done)](const call_end& how,
                                                                         wire::TxnResponse& got) mutable {
        if (!how.ok()) return done(failure_of(how));
        if (!self->ours(got.header(), seen)) return done(self->stranger());
        done(etcd_store::read(got, got.header().revision()));
      },
      here);
}

void http2_link::grant(std::int64_t seconds, completion<granted_lease> done) {
  wire::LeaseGrantRequest request;
  request.set_ttl(seconds);
  ask<wire::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", request,
                                [self = shared_from_this(), seen = seen(), done = std::move(done)](
                                    const call_end& how, wire::LeaseGrantResponse& got) mutable {
                                  if (!how.ok()) return done(failure_of(how));
                                  if (!self->ours(got.header(), seen)) return done(self->stranger());
                                  done(granted_lease{got.id(), got.ttl()});
                                });
}

void http2_link::revoke(lease_id lease, completion<bool> done) {
  wire::LeaseRevokeRequest request;
  request.set_id(lease);
  ask<wire::LeaseRevokeResponse>(
      "/etcdserverpb.Lease/LeaseRevoke", request,
      [done = std::move(done)](const call_end& how, wire::LeaseRevokeResponse&) mutable { done(how.ok()); });
}

void http2_link::time_to_live(lease_id lease, completion<std::int64_t> done) {
  wire::LeaseTimeToLiveRequest request;
  request.set_id(lease);
  ask<wire::LeaseTimeToLiveResponse>(
      "/etcdserverpb.Lease/LeaseTimeToLive", request,
      [done = std::move(done)](const call_end& how, wire::LeaseTimeToLiveResponse& got) mutable {
        if (!how.ok()) return done(failure_of(how));
        done(got.ttl());
      });
}

void http2_link::status(std::size_t endpoint, completion<member_status> done) {
  ask<wire::StatusResponse>(
      "/etcdserverpb.Maintenance/Status", wire::StatusRequest{},
      [where = settings_->endpoints.at(endpoint).shown(), done = std::move(done)](const call_end& how,
                                                                                  wire::StatusResponse& got) mutable {
        if (!how.ok()) return done(failure_of(how));
        done(member_status{where, got.version(), got.header().member_id(), got.leader(), got.dbsize()});
      },
      inline_work::never, endpoint);
}

void http2_link::view(completion<cluster_view> done) {
  ask<wire::MemberListResponse>(
      "/etcdserverpb.Cluster/MemberList", wire::MemberListRequest{},
      [self = shared_from_this(), done = std::move(done)](const call_end& how, wire::MemberListResponse& got) mutable {
        if (!how.ok()) return done(failure_of(how));
        cluster_view seen{.cluster = got.header().cluster_id(),
                          .members = static_cast<std::size_t>(got.members_size())};
        for (const auto& one : got.members()) seen.learners += one.islearner() ? 1 : 0;
        self->ask<wire::AlarmResponse>(
            "/etcdserverpb.Maintenance/Alarm", wire::AlarmRequest{},
            [seen, done = std::move(done)](const call_end& answer, wire::AlarmResponse& raised) mutable {
              if (!answer.ok()) return done(failure_of(answer));
              for (const auto& one : raised.alarms())
                seen.alarms.emplace_back(one.alarm() == 1 ? "NOSPACE" : one.alarm() == 2 ? "CORRUPT" : "?");
              done(std::move(seen));
            });
      });
}

}  // namespace interlock::inline v1::etcd_store
