// SPDX-License-Identifier: MIT
#include "backends/etcd/messages.hpp"

#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

void write(const key_range& keys, auto& to) {
  to.set_key(keys.key);
  if (!keys.end.empty()) to.set_range_end(keys.end);
}

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

key_value read(wire::KeyValue& from) {
  return {std::move(*from.mutable_key()), std::move(*from.mutable_value()), from.create_revision(), from.mod_revision(),
          from.lease()};
}

}  // namespace

void write(const transaction& what, wire::TxnRequest& to) {
  for (const auto& one : what.when) write(one, *to.add_compare());
  for (const auto& one : what.then) write(one, *to.add_success());
  for (const auto& one : what.otherwise) write(one, *to.add_failure());
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

}  // namespace interlock::inline v1::etcd_store
