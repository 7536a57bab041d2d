// SPDX-License-Identifier: MIT
#include "backends/etcd/bundler.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace interlock::inline v1::etcd_store {
namespace {

// etcd takes 128 operations in a transaction, and counts those that are nested, level by level, with the ones around
// them: https://github.com/etcd-io/etcd/blob/v3.4.23/etcdserver/api/v3rpc/key.go
constexpr std::size_t most_members = 100;
constexpr std::size_t most_bytes = 400'000;  // it takes 1.5 MB
constexpr int most_under_way = 2;            // etcd has one to work on while we read the answers to the other
constexpr milliseconds longest_wait{10};     // for one that is under way and may not be answered

std::size_t bytes_of(const transaction& what);

std::size_t bytes_of(const std::vector<operation>& all) {
  std::size_t sum = 0;
  for (const auto& one : all) {
    sum += one.keys.key.size() + one.keys.end.size() + one.value.size() + 20;
    for (const auto& each : one.inner) sum += bytes_of(each);
  }
  return sum;
}

std::size_t bytes_of(const transaction& what) {
  auto sum = bytes_of(what.then) + bytes_of(what.otherwise);
  for (const auto& one : what.when) sum += one.of.key.size() + one.of.end.size() + 20;
  return sum;
}

}  // namespace

void bundler::commit(std::string name, transaction what, inline_work here, completion<outcome> done) {
  const auto bytes = bytes_of(what);
  std::vector<member> alone;
  alone.push_back({std::move(name), std::move(what), here, std::move(done), bytes});
  bool alarm = false;
  {
    const std::lock_guard lock(mutex_);
    if (under_way_ >= most_under_way || !waiting_.empty() || here == inline_work::together ||
        flying_.contains(alone.front().name)) {
      waiting_.push_back(std::move(alone.front()));
      alone.clear();
      alarm = !std::exchange(alarm_, true);
    } else {
      ++under_way_;
      flying_.insert(alone.front().name);
    }
  }
  if (alarm) do_not_wait_long();
  if (!alone.empty()) send(std::move(alone));
}

void bundler::flush() { send_next(whom::those_in_order); }

void bundler::do_not_wait_long() {
  loop_.call_at(time_.now() + longest_wait, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      self->alarm_ = false;
    }
    self->send_next(whom::anybody);
  });
}

// [mutex_] Of one name only one: the second may need what the first has done, and answers overtake each other.
std::vector<bundler::member> bundler::take(whom next) {
  std::vector<member> out, rest;
  std::unordered_set<std::string> names;
  if (next == whom::those_in_order) names = flying_;
  std::size_t bytes = 0;
  for (auto& one : waiting_) {
    const bool fits = out.size() < most_members && (out.empty() || bytes + one.bytes <= most_bytes);
    if (!fits || !names.insert(one.name).second) {
      rest.push_back(std::move(one));
      continue;
    }
    bytes += one.bytes;
    out.push_back(std::move(one));
  }
  waiting_ = std::move(rest);
  return out;
}

void bundler::send_next(whom which) {
  for (;;) {
    std::vector<member> next;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() || (which == whom::those_in_order && under_way_ >= most_under_way)) return;
      next = take(which);
      if (next.empty()) return;
      for (const auto& one : next) flying_.insert(one.name);
      ++under_way_;
    }
    send(std::move(next));
  }
}

void bundler::over(std::span<const std::string> names) {
  {
    const std::lock_guard lock(mutex_);
    --under_way_;
    for (const auto& one : names) flying_.erase(one);
  }
  send_next(whom::those_in_order);
}

struct bundler::bundle {
  transaction whole{};
  std::vector<std::string> names{};
  std::vector<completion<outcome>> done{};
};

void bundler::send(std::vector<member> all) {
  const auto self = shared_from_this();
  if (all.size() == 1) {
    auto& one = all.front();
    return link_->commit(one.what, one.here,
                         [self, name = std::move(one.name), done = std::move(one.done)](result<outcome> got) mutable {
                           self->over({&name, 1});
                           done(std::move(got));
                         });
  }
  const auto sent = std::make_shared<bundle>();
  for (auto& one : all) {
    sent->whole.then.push_back(nested(std::move(one.what)));
    sent->names.push_back(std::move(one.name));
    sent->done.push_back(std::move(one.done));
  }
  link_->commit(sent->whole, [self, sent](result<outcome> got) {
    self->over(sent->names);
    for (std::size_t i = 0; i < sent->done.size(); ++i) {
      auto& done = sent->done[i];
      if (got)
        done(std::move(got->answers.at(i).inner.at(0)));
      else if (got.error() == errc::indeterminate)
        done(got.error());
      else
        self->link_->commit(sent->whole.then[i].inner.front(), std::move(done));
    }
  });
}

}  // namespace interlock::inline v1::etcd_store
