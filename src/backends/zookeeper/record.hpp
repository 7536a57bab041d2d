// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/notes.hpp"
#include "backends/zookeeper/session.hpp"

#include <interlock/backend.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace interlock::inline v1::zookeeper_store {

/// Work to be done when no lock is held any more: answers and news.
class aftermath {
 public:
  aftermath() = default;
  aftermath(const aftermath&) = delete;
  aftermath& operator=(const aftermath&) = delete;

  void add(unique_function<void()> call) { calls_.push_back(std::move(call)); }
  template <class T, class V>
  void answer(completion<T> done, V value) {
    add([done = std::move(done), value = result<T>(std::move(value))]() mutable { done(std::move(value)); });
  }
  void run() {
    for (auto& one : calls_) one();
    calls_.clear();
  }

 private:
  std::vector<unique_function<void()>> calls_;
};

/// A claim of this client, and what is known of its nodes.
struct record : std::enable_shared_from_this<record> {
  enum class state : std::uint8_t {
    making,     ///< its node is being made, or looked for, or its place found out
    uncertain,  ///< a request about it was sent, and the connection ended before its answer came
    waiting,
    held,
    leaving,  ///< its nodes are being removed
    over,     ///< they are gone
  };

  claim_secret secret{};
  claim_id id{};
  std::string name{}, path{};  ///< of the lock
  lock_mode mode = lock_mode::exclusive;
  std::uint32_t weight = 1, capacity = lock_capacity;
  milliseconds lease{}, wait_lease{};
  claim_notes notes{};
  std::shared_ptr<session> at{};

  state is = state::making;
  entry how = entry::queue;
  instant asked{};      ///< when it was entered
  instant ends{};       ///< its lease, counted here: nobody but this client knows it
  bool timed = false;   ///< it is in the list of ends
  bool unsent = false;  ///< waits for its session
  bool doomed = false;  ///< to be removed as soon as possible
  bool evicted = false;
  bool guarded = false;  ///< its own node is watched
  bool vetted = false;   ///< nobody contends for the name in another format
  bool mixed = false;    ///< it has been made sure that the name is no semaphore
  unsigned tries = 0;
  int parent_error = 0;
  unsigned round = 0;  ///< answers to questions of an earlier one are not for us

  std::string node{};                 ///< in the queue; a child of queue()
  std::vector<std::string> leases{};  ///< of a semaphore: what it holds
  std::string watching{};             ///< the path whose change may let it in
  std::string last{};                 ///< held: who was last in the queue behind it, if anybody
  std::string before{};               ///< making: who is right before it, if nobody else has come meanwhile
  std::int32_t version = 0;           ///< of its node's data
  std::uint64_t token = 0;
  std::uint32_t ahead = 0, behind = 0;

  std::vector<completion<standing>> enters{};
  std::vector<completion<departure>> leaves{};
  std::vector<unique_function<void(aftermath&)>> at_the_end{};  ///< when its nodes are gone
  std::optional<departure> left_as{};                           ///< as what it was asked to leave first
  std::optional<result<standing>> last_word{};                  ///< to who entered, when its nodes are gone

  [[nodiscard]] bool permits() const noexcept { return capacity != lock_capacity; }
  [[nodiscard]] std::string queue() const { return permits() ? path + "/locks" : path; }
  [[nodiscard]] std::string pool() const { return path + "/leases"; }
  [[nodiscard]] std::string own() const {
    return leases.empty() ? queue() + "/" + node : pool() + "/" + leases.front();
  }
  [[nodiscard]] bool stands() const noexcept { return is == state::waiting || is == state::held; }
};
using record_ptr = std::shared_ptr<record>;

/// What is said of a claim that has no nodes any more.
inline standing gone(bool evicted) {
  standing out;
  out.is = standing::kind::gone;
  out.reason = evicted ? standing::cause::evicted : standing::cause::unknown;
  return out;
}

}  // namespace interlock::inline v1::zookeeper_store
