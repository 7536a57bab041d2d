// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_BENCH_GRPC
#include "raw_etcd.hpp"

#include "backends/etcd/claim_text.hpp"
#include "backends/etcd/keys.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>

#include <unistd.h>

#include <array>
#include <stdexcept>

namespace bench {
namespace {

using namespace interlock::etcd_store;

template <class Request, class Response>
Response call(grpc::Channel& channel, const char* name, const Request& request) {
  const grpc::internal::RpcMethod method(name, grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ClientContext context;
  Response response;
  const auto said =
      grpc::internal::BlockingUnaryCall<Request, Response, grpc::protobuf::MessageLite, grpc::protobuf::MessageLite>(
          &channel, method, &context, request, &response);
  if (!said.ok()) throw std::runtime_error("etcd: " + said.error_message());
  return response;
}

lease_id make_lease(grpc::Channel& channel, std::int64_t seconds) {
  wire::LeaseGrantRequest wanted;
  wanted.set_ttl(seconds);
  return call<wire::LeaseGrantRequest, wire::LeaseGrantResponse>(channel, "/etcdserverpb.Lease/LeaseGrant", wanted)
      .id();
}

// As a claim of this process looks like.
std::string claim_words(const interlock::claim_id& id) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return claim_text{.id = id,
                    .since = 1'763'277'632'114,
                    .lease = 30'000,
                    .origin = {.host = host.data(), .program = "interlock_bench", .pid = ::getpid()}}
      .text();
}

}  // namespace

// entering.cpp and leaving.cpp, for a lock that is free.
raw_etcd::raw_etcd(const std::string& address, const std::string& name)
    : channel_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())) {
  const keyring keys("", false);
  const auto written = keys.written(name);
  const auto full = make_lease(*channel_, 3'600), brief = make_lease(*channel_, 3'600), notes = full;
  const interlock::claim_id id = interlock::public_id(interlock::claim_secret{});
  const auto key = keys.claim(written, full), words = claim_words(id);
  const auto all = keys.claims(written);
  const auto note = put(keys.last(written), {}, notes);
  const transaction queue{{absent({key, {}}), absent(keys.tombs(id))},
                          {get_youngest(all, 16), put(key, words, brief), note},
                          {get_all(all)}};
  write({{absent(all), absent(keys.tombs(id))}, {put(key, words, full), note}, {nested(queue)}}, acquire_);
  write({{created_at(key, 0)}, {remove(key)}, {}}, release_);
}

std::int64_t raw_etcd::ask(const wire::TxnRequest& what) {
  const auto got = call<wire::TxnRequest, wire::TxnResponse>(*channel_, "/etcdserverpb.KV/Txn", what);
  if (!got.succeeded()) throw std::runtime_error("etcd: a lock that nobody else wants was refused");
  return got.header().revision();
}

void raw_etcd::acquire() { release_.mutable_compare(0)->set_create_revision(ask(acquire_)); }

void raw_etcd::release() { ask(release_); }

}  // namespace bench
#endif
