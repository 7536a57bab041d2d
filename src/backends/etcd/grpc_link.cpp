// SPDX-License-Identifier: MIT
#include "backends/etcd/grpc_link.hpp"

#include "backends/etcd/grpc_streams.hpp"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
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

// gRPC tells a failed handshake to stderr as well as to us, and we tell the caller. Set before main(), so that a
// program with a wish of its own about gRPC's log has the last word; all else goes where it would have gone.
void log_all_but_handshakes(gpr_log_func_args* said) {
  const std::string_view file = said->file;
  for (const std::string_view one : {"ssl_transport_security.cc", "secure_endpoint.cc", "security_handshaker.cc"})
    if (file.ends_with(one)) return;
  std::fprintf(stderr, "gRPC: %s:%d] %s\n", said->file, said->line, said->message);
}
[[maybe_unused]] const bool quiet_handshakes = [] {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function(log_all_but_handshakes);
  return true;
}();

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

revision grpc_link::seen() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

bool grpc_link::ours(const wire::ResponseHeader& said, revision seen) {
  const std::lock_guard lock(mutex_);
  if (cluster_ == 0) cluster_ = said.cluster_id();
  if (said.cluster_id() != cluster_ || said.revision() < seen) return false;
  seen_ = std::max(seen_, said.revision());
  return true;
}

void grpc_link::later(milliseconds delay, unique_function<void()> work) {
  loop_.call_at(time_.now() + delay, [self = weak_from_this(), work = std::move(work)]() mutable {
    if (const auto alive = self.lock(); alive && !alive->closed()) work();
  });
}

template <class Request, class Response>
struct grpc_link::unary final : notice, std::enable_shared_from_this<unary<Request, Response>> {
  unary(std::shared_ptr<grpc_link> link, const char* name, Request what,
        unique_function<void(const grpc::Status&, Response&)> then)
      : from(std::move(link)), method(name), request(std::move(what)), done(std::move(then)) {}

  std::shared_ptr<grpc_link> from;
  const char* method;
  Request request;
  unique_function<void(const grpc::Status&, Response&)> done;
  inline_work here = inline_work::never;
  std::shared_ptr<grpc::Channel> fixed{};  // a member of its own, whatever the link's way is
  Response response{};
  grpc::Status said{};
  std::shared_ptr<grpc::ClientContext> context{};
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader{};
  std::shared_ptr<unary> self{};  // until gRPC is done with it
  std::uint64_t way = 0;
  bool logged_in = false;

  void arrived(bool) noexcept override {
    const auto mine = std::move(self);
    from->finished(mine);
  }
};

template <class Request, class Response>
void grpc_link::call(const char* method, Request request, unique_function<void(const grpc::Status&, Response&)> done,
                     inline_work here, std::shared_ptr<grpc::Channel> fixed) {
  auto one =
      std::make_shared<unary<Request, Response>>(shared_from_this(), method, std::move(request), std::move(done));
  one->here = here;
  one->fixed = std::move(fixed);
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
  one->self = one;
  const signals_blocked here;
  one->reader = grpc::TemplatedGenericStub<Request, Response>(one->fixed ? one->fixed : along.channel)
                    .PrepareUnaryCall(one->context.get(), one->method, one->request, &mail_.queue());
  mail_.asked(one->here);
  one->reader->StartCall();
  one->reader->Finish(&one->response, &one->said, static_cast<notice*>(one.get()));
}

template <class Request, class Response>
void grpc_link::finished(const std::shared_ptr<unary<Request, Response>>& one) noexcept {
  one->reader.reset();
  const auto* const context = std::exchange(one->context, nullptr).get();  // begin() has kept one, too
  const auto said = one->said;
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
  } catch (...) {  // there is nobody to tell, and others are to be told
  }
  if (!one->context) one->fixed.reset();  // not called again
  mail_.answered();
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
      shared_from_this(), "/etcdserverpb.Auth/Authenticate", std::move(who),
      [self = shared_from_this()](const grpc::Status& said, answer& got) {
        std::vector<unique_function<void(const grpc::Status&)>> waiting;
        {
          const std::lock_guard lock(self->mutex_);
          if (said.ok()) self->token_ = got.token();
          waiting.swap(self->logging_in_);
        }
        for (auto& each : waiting) each(said);
      });
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
  for (const auto& each : all) each->TryCancel();
  all.clear();
  way last;
  {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return count_ == 0; });
    keeping_.reset();
    watching_.reset();
    last = std::exchange(way_, {});
  }
  mail_.close();
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

failure grpc_link::stranger() {
  other_way();
  return failure(
      errc::unavailable,
      "etcd: another cluster answers than before, or one that has lost its data: it does not know our locks, "
      "and its tokens may have been given before. Connect again when all holders have stopped");
}

void grpc_link::commit(const transaction& what, inline_work here, completion<outcome> done) {
  wire::TxnRequest request;
  write(what, request);
  call<wire::TxnRequest, wire::TxnResponse>(
      "/etcdserverpb.KV/Txn", std::move(request),
      [self = shared_from_this(), seen = seen(), done = std::move(done)](const grpc::Status& said,
                                                                         wire::TxnResponse& got) mutable {
        if (!said.ok()) return done(failure_of(said));
        if (!self->ours(got.header(), seen)) return done(self->stranger());
        done(read(got, got.header().revision()));
      },
      here);
}

void grpc_link::grant(std::int64_t seconds, completion<granted_lease> done) {
  wire::LeaseGrantRequest request;
  request.set_ttl(seconds);
  call<wire::LeaseGrantRequest, wire::LeaseGrantResponse>(
      "/etcdserverpb.Lease/LeaseGrant", std::move(request),
      [self = shared_from_this(), seen = seen(), done = std::move(done)](const grpc::Status& said,
                                                                         wire::LeaseGrantResponse& got) mutable {
        if (!said.ok()) return done(failure_of(said));
        if (!self->ours(got.header(), seen)) return done(self->stranger());
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
      inline_work::never, make_channel(where));
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
