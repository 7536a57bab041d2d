// SPDX-License-Identifier: MIT
#pragma once

#include "backends/memcached/layout.hpp"
#include "backends/memcached/meta.hpp"
#include "backends/memcached/record.hpp"
#include "backends/memcached/way.hpp"

#include <interlock/backend.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace interlock::inline v1::memcached_store {

/// The questions of a backend, in meta commands. A claim's item is changed by the number it had when last seen (CAS),
/// so that nothing is done to what has become somebody else's; that number, the token, and who waits are remembered
/// here. Lives as long as somebody waits for an answer.
class locks : public std::enable_shared_from_this<locks> {
 public:
  locks(std::shared_ptr<way> to, layout as, const time_source& time, claim_origin own);

  void enter(const claim& who, entry how, inline_work here, completion<standing> done);
  void look(const claim& who, inline_work here, completion<standing> done);
  void leave(const claim& who, finality how, inline_work here, completion<departure> done);
  void show(const std::string& name, completion<survey_page> done);
  void evict(const std::string& name, const claim_id& who, bool force, completion<bool> done);

 private:
  /// What we know of a claim of ours.
  struct known {
    enum class state : std::uint8_t { waiting, held, doubtful /* asked for, and not answered */ };
    state is = state::waiting;
    std::uint64_t cas = 0;
    std::uint64_t token = 0;
    std::uint32_t tokens = 1;
    std::int64_t since = 0;
    instant ends{};  // when it can be forgotten, if nobody asks any more
  };

  void create(const claim& who, entry how, inline_work here, completion<standing> done);
  void create_or_find(const claim& who, entry how, inline_work here, completion<standing> done);
  void renew(const claim& who, std::uint64_t cas, int tries, inline_work here, completion<standing> done);
  void find_and_renew(const claim& who, int tries, inline_work here, completion<standing> done);
  void remove(const claim& who, std::uint64_t cas, int tries, inline_work here, completion<departure> done);
  void find_and_remove(const claim& who, int tries, inline_work here, completion<departure> done);

  void read(std::string_view name, inline_work here, replies_handler done);

  void bury(const claim& who);
  /// And whether it was left finally.
  [[nodiscard]] std::pair<std::optional<known>, bool> recall(const claim_secret& who);
  void remember(const claim& who, known what);
  void forget(const claim_secret& who);
  /// What the item of a claim says, appended; since when it says that it is there.
  [[nodiscard]] std::int64_t write(std::string& to, const claim& who, const known* before) const;

  const std::shared_ptr<way> way_;
  const layout layout_;
  const time_source& time_;
  const claim_origin own_;

  std::mutex mutex_;
  std::unordered_map<claim_secret, known> known_;
  std::vector<decltype(known_)::node_type> spare_;    // of forgotten ones, so that nothing is allocated for the next
  std::unordered_map<claim_secret, instant> graves_;  // left finally: a late enter has no effect
  std::size_t sweep_at_ = 1024;                       // how many it takes until the ended ones are removed
};

}  // namespace interlock::inline v1::memcached_store
