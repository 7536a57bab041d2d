// SPDX-License-Identifier: MIT
#include "backends/etcd/grpc_link.hpp"

#include "backends/etcd/grpc_streams.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <signal.h>

#include <chrono>
#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

constexpr milliseconds least_stay{100};  // on one member: a change of members costs the watch

// gRPC starts its threads in our calls; signals are for the program's own threads.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

bool login_ran_out(const grpc::Status& said) {
  if (said.error_code() == grpc::StatusCode::UNAUTHENTICATED) return true;
  const auto& text = said.error_message();
  return text.find("user name is empty") != text.npos || text.find("invalid auth token") != text.npos ||
         text.find("revision of auth store is old") != text.npos;
}

}  // namespace

std::shared_ptr<link> link::make(etcd_settings settings, reactor& loop, const time_source& time) {
  return std::make_shared<grpc_link>(std::move(settings), loop, time);
}

grpc_link::grpc_link(etcd_settings settings, reactor& loop, const time_source& time)
    : settings_(std::move(settings)), loop_(loop), time_(time) {
  const signals_blocked here;
  way_ = {make_channel(settings_.endpoints.front()), 1};
  first_ = way_.channel;
}

grpc_link::~grpc_link() = default;

std::shared_ptr<grpc::Channel> grpc_link::make_channel(const std::string& endpoint) const {
  grpc::ChannelArguments how;
  how.SetMaxReceiveMessageSize(-1);
  how.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  how.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(settings_.connect_timeout.count()));
  how.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  how.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a new channel is a new connection
  how.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // More often than every 5 s earns a GOAWAY: https://etcd.io/docs/v3.4/op-guide/configuration/
  how.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  how.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(settings_.timeout.count()));
  how.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  if (!settings_.tls) return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), how);
  return grpc::CreateCustomChannel(
      endpoint, grpc::SslCredentials({settings_.tls_ca, settings_.tls_key, settings_.tls_cert}), how);
}

grpc_link::way grpc_link::begin(std::shared_ptr<grpc::ClientContext> context, bool with_deadline) {
  if (with_deadline) context->set_deadline(std::chrono::system_clock::now() + settings_.timeout);
  context->AddMetadata("hasleader", "true");  // a member that has lost its leader says so, instead of waiting for one
  const std::lock_guard lock(mutex_);
  if (closed_) return {};
  if (!token_.empty()) context->AddMetadata("token", token_);
  auto* const key = context.get();
  under_way_.emplace(key, std::move(context));
  ++count_;
  return way_;
}

void grpc_link::end(const grpc::ClientContext* context) noexcept {
  std::shared_ptr<grpc::ClientContext> last;
  {
    const std::lock_guard lock(mutex_);
    const auto found = under_way_.find(context);
    if (found != under_way_.end()) {
      last = std::move(found->second);
      under_way_.erase(found);
    }
  }
  last.reset();
  const std::lock_guard lock(mutex_);
  if (--count_ == 0) idle_.notify_all();
}

bool grpc_link::closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void grpc_link::suspect(std::uint64_t number) {
  std::shared_ptr<keep_stream> keeping;
  std::shared_ptr<watch_stream> watching;
  {
    const std::lock_guard lock(mutex_);
    const auto now = time_.now();
    if (closed_ || number != way_.number || now - moved_ < least_stay) return;
    moved_ = now;
    endpoint_ = (endpoint_ + 1) % settings_.endpoints.size();
    const signals_blocked here;
    way_ = {make_channel(settings_.endpoints[endpoint_]), way_.number + 1};
    keeping = std::exchange(keeping_, nullptr);
    watching = watching_;
  }
  if (keeping) keeping->cancel();
  if (watching) watching->cancel();
}

void grpc_link::other_way() {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = way_.number;
  }
  suspect(number);
}

void grpc_link::later(milliseconds delay, unique_function<void()> work) {
  loop_.call_at(time_.now() + delay, [self = weak_from_this(), work = std::move(work)]() mutable {
    if (const auto alive = self.lock(); alive && !alive->closed()) work();
  });
}

template <class Request, class Response>
struct grpc_link::unary {
  const char* method;
  Request request;
  unique_function<void(const grpc::Status&, Response&)> done;
  std::shared_ptr<grpc::Channel> fixed{};  // a member of its own, whatever the link's way is
  Response response{};
  std::shared_ptr<grpc::ClientContext> context{};
  std::uint64_t way = 0;
  bool logged_in = false;
};

template <class Request, class Response>
void grpc_link::call(const char* method, Request request, unique_function<void(const grpc::Status&, Response&)> done,
                     std::shared_ptr<grpc::Channel> fixed) {
  auto one = std::make_shared<unary<Request, Response>>(
      unary<Request, Response>{method, std::move(request), std::move(done), std::move(fixed)});
  bool first = false;
  if (!settings_.user.empty()) {
    const std::lock_guard lock(mutex_);
    first = token_.empty();
  }
  if (!first) return start(one);
  one->logged_in = true;
  log_in([self = shared_from_this(), one](const grpc::Status& said) {
    if (said.ok()) return self->start(one);
    one->done(said, one->response);
  });
}

template <class Request, class Response>
void grpc_link::start(const std::shared_ptr<unary<Request, Response>>& one) {
  one->context = std::make_shared<grpc::ClientContext>();
  const auto along = begin(one->context, true);
  if (!along.channel) return one->done(grpc::Status(grpc::StatusCode::CANCELLED, "closed"), one->response);
  one->way = one->fixed ? 0 : along.number;
  const signals_blocked here;
  grpc::TemplatedGenericStub<Request, Response>(one->fixed ? one->fixed : along.channel)
      .UnaryCall(one->context.get(), one->method, {}, &one->request, &one->response,
                 [self = shared_from_this(), one](const grpc::Status& said) { self->finished(one, said); });
}

template <class Request, class Response>
void grpc_link::finished(const std::shared_ptr<unary<Request, Response>>& one, const grpc::Status& said) {
  const auto* const context = std::exchange(one->context, nullptr).get();  // begin() has kept one, too
  try {
    if (!said.ok() && !settings_.user.empty() && login_ran_out(said) && !std::exchange(one->logged_in, true)) {
      {
        const std::lock_guard lock(mutex_);
        token_.clear();
      }
      log_in([self = shared_from_this(), one](const grpc::Status& in) {
        if (in.ok()) return self->start(one);
        one->done(in, one->response);
      });
    } else {
      if (lost_touch(said)) suspect(one->way);
      one->done(said, one->response);
    }
  } catch (...) {  // gRPC would swallow it, and the call would hang
  }
  if (!one->context) one->fixed.reset();  // not called again
  end(context);
}

// One at a time: whoever comes meanwhile waits for the same answer.
void grpc_link::log_in(unique_function<void(const grpc::Status&)> then) {
  {
    const std::lock_guard lock(mutex_);
    logging_in_.push_back(std::move(then));
    if (logging_in_.size() > 1) return;
  }
  wire::AuthenticateRequest who;
  who.set_name(settings_.user);
  if (settings_.password) who.set_password(settings_.password());
  using answer = wire::AuthenticateResponse;
  auto one = std::make_shared<unary<wire::AuthenticateRequest, answer>>(
      unary<wire::AuthenticateRequest, answer>{"/etcdserverpb.Auth/Authenticate", std::move(who),
                                               [self = shared_from_this()](const grpc::Status& said, answer& got) {
                                                 std::vector<unique_function<void(const grpc::Status&)>> waiting;
                                                 {
                                                   const std::lock_guard lock(self->mutex_);
                                                   if (said.ok()) self->token_ = got.token();
                                                   waiting.swap(self->logging_in_);
                                                 }
                                                 for (auto& each : waiting) each(said);
                                               }});
  one->logged_in = true;
  start(one);
}

void grpc_link::close() noexcept {
  std::vector<std::shared_ptr<grpc::ClientContext>> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& [key, each] : under_way_) all.push_back(each);
  }
  for (const auto& each : all) each->TryCancel();  // which may run their callbacks right here
  all.clear();
  way last;
  std::shared_ptr<grpc::Channel> very_last;
  {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return count_ == 0; });
    keeping_.reset();
    watching_.reset();
    last = std::exchange(way_, {});
    very_last = std::move(first_);
  }
}

// ---- what etcd says, in our words

bool lost_touch(const grpc::Status& said) noexcept {
  return said.error_code() == grpc::StatusCode::UNAVAILABLE || said.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

failure failure_of(const grpc::Status& said) {
  const auto& text = said.error_message();
  const auto words = "etcd: " + text;
  const auto says = [&](const char* part) { return text.find(part) != text.npos; };
  switch (said.error_code()) {
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED: return failure(errc::denied, words);
    case grpc::StatusCode::NOT_FOUND: return failure(errc::lost, words);  // of leases
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return failure(errc::unavailable, words);
    case grpc::StatusCode::INVALID_ARGUMENT:
      return failure(says("authentication failed") || says("user name") ? errc::denied : errc::internal, words);
    case grpc::StatusCode::FAILED_PRECONDITION: return failure(errc::denied, words);
    case grpc::StatusCode::DEADLINE_EXCEEDED: return failure(errc::indeterminate, "etcd: no answer in time");
    default: break;
  }
  // Never sent, or refused before anything was done.
  if (says("failed to connect") || says("Connection refused") || says("no leader") || says("DNS resolution") ||
      says("Name resolution") || says("Handshake failed") || says("handshake"))
    return failure(errc::unavailable, words);
  return failure(errc::indeterminate, words);
}

namespace {

void write(const key_range& keys, auto& to) {
  to.set_key(keys.key);
  if (!keys.end.empty()) to.set_range_end(keys.end);
}

void write(const transaction& what, wire::TxnRequest& to);

void write(const comparison& one, wire::Compare& to) {
  write(one.of, to);
  to.set_result(one.is == comparison::relation::less ? wire::Compare::LESS : wire::Compare::EQUAL);
  if (one.what == comparison::field::created) {
    to.set_target(wire::Compare::CREATE);
    to.set_create_revision(one.to);
  } else {
    to.set_target(wire::Compare::MOD);
    to.set_mod_revision(one.to);
  }
}

void write(const operation& one, wire::RequestOp& to) {
  switch (one.is) {
    case operation::kind::get: {
      auto& range = *to.mutable_request_range();
      write(one.keys, range);
      range.set_limit(one.limit);
      range.set_keys_only(one.keys_only);
      range.set_count_only(one.count_only);
      range.set_max_create_revision(one.created_until);
      if (one.sorted == operation::order::youngest_first) {
        range.set_sort_order(wire::RangeRequest::DESCEND);
        range.set_sort_target(wire::RangeRequest::CREATE);
      }
      return;
    }
    case operation::kind::put: {
      auto& put = *to.mutable_request_put();
      put.set_key(one.keys.key);
      put.set_value(one.value);
      put.set_lease(one.lease);
      return;
    }
    case operation::kind::remove: write(one.keys, *to.mutable_request_delete_range()); return;
    case operation::kind::nested: write(one.inner.front(), *to.mutable_request_txn()); return;
  }
}

void write(const transaction& what, wire::TxnRequest& to) {
  for (const auto& one : what.when) write(one, *to.add_compare());
  for (const auto& one : what.then) write(one, *to.add_success());
  for (const auto& one : what.otherwise) write(one, *to.add_failure());
}

key_value read(wire::KeyValue& from) {
  return {std::move(*from.mutable_key()), std::move(*from.mutable_value()), from.create_revision(), from.mod_revision(),
          from.lease()};
}

outcome read(wire::TxnResponse& from, revision at) {
  outcome out{.met = from.succeeded(), .at = at};
  out.answers.resize(static_cast<std::size_t>(from.responses_size()));
  for (int i = 0; i < from.responses_size(); ++i) {
    auto& one = *from.mutable_responses(i);
    auto& to = out.answers[static_cast<std::size_t>(i)];
    if (one.has_response_range()) {
      auto& range = *one.mutable_response_range();
      to.count = range.count();
      to.more = range.more();
      to.found.reserve(static_cast<std::size_t>(range.kvs_size()));
      for (auto& kv : *range.mutable_kvs()) to.found.push_back(read(kv));
    } else if (one.has_response_delete_range()) {
      to.count = one.response_delete_range().deleted();
    } else if (one.has_response_txn()) {
      to.inner.push_back(read(*one.mutable_response_txn(), at));
    }
  }
  return out;
}

}  // namespace

void grpc_link::commit(const transaction& what, completion<outcome> done) {
  wire::TxnRequest request;
  write(what, request);
  call<wire::TxnRequest, wire::TxnResponse>(
      "/etcdserverpb.KV/Txn", std::move(request),
      [done = std::move(done)](const grpc::Status& said, wire::TxnResponse& got) mutable {
        if (!said.ok()) return done(failure_of(said));
        done(read(got, got.header().revision()));
      });
}

void grpc_link::grant(std::int64_t seconds, completion<granted_lease> done) {
  wire::LeaseGrantRequest request;
  request.set_ttl(seconds);
  call<wire::LeaseGrantRequest, wire::LeaseGrantResponse>(
      "/etcdserverpb.Lease/LeaseGrant", std::move(request),
      [done = std::move(done)](const grpc::Status& said, wire::LeaseGrantResponse& got) mutable {
        if (!said.ok()) return done(failure_of(said));
        done(granted_lease{got.id(), got.ttl()});
      });
}

void grpc_link::revoke(lease_id lease, completion<bool> done) {
  wire::LeaseRevokeRequest request;
  request.set_id(lease);
  call<wire::LeaseRevokeRequest, wire::LeaseRevokeResponse>(
      "/etcdserverpb.Lease/LeaseRevoke", std::move(request),
      [done = std::move(done)](const grpc::Status& said, wire::LeaseRevokeResponse&) mutable { done(said.ok()); });
}

void grpc_link::time_to_live(lease_id lease, completion<std::int64_t> done) {
  wire::LeaseTimeToLiveRequest request;
  request.set_id(lease);
  call<wire::LeaseTimeToLiveRequest, wire::LeaseTimeToLiveResponse>(
      "/etcdserverpb.Lease/LeaseTimeToLive", std::move(request),
      [done = std::move(done)](const grpc::Status& said, wire::LeaseTimeToLiveResponse& got) mutable {
        if (!said.ok()) return done(failure_of(said));
        done(got.ttl());
      });
}

void grpc_link::status(std::size_t endpoint, completion<member_status> done) {
  const auto& where = settings_.endpoints.at(endpoint);
  call<wire::StatusRequest, wire::StatusResponse>(
      "/etcdserverpb.Maintenance/Status", {},
      [where, done = std::move(done)](const grpc::Status& said, wire::StatusResponse& got) mutable {
        if (!said.ok()) return done(failure_of(said));
        done(member_status{where, got.version(), got.header().member_id(), got.leader(), got.dbsize()});
      },
      make_channel(where));
}

void grpc_link::view(completion<cluster_view> done) {
  call<wire::MemberListRequest, wire::MemberListResponse>(
      "/etcdserverpb.Cluster/MemberList", {},
      [self = shared_from_this(), done = std::move(done)](const grpc::Status& said,
                                                          wire::MemberListResponse& got) mutable {
        if (!said.ok()) return done(failure_of(said));
        cluster_view seen{.cluster = got.header().cluster_id(),
                          .members = static_cast<std::size_t>(got.members_size())};
        for (const auto& one : got.members()) seen.learners += one.islearner() ? 1 : 0;
        self->call<wire::AlarmRequest, wire::AlarmResponse>(
            "/etcdserverpb.Maintenance/Alarm", {},
            [seen, done = std::move(done)](const grpc::Status& answer, wire::AlarmResponse& raised) mutable {
              if (!answer.ok()) return done(failure_of(answer));
              for (const auto& one : raised.alarms())
                seen.alarms.emplace_back(one.alarm() == 1 ? "NOSPACE" : one.alarm() == 2 ? "CORRUPT" : "?");
              done(std::move(seen));
            });
      });
}

}  // namespace interlock::inline v1::etcd_store
