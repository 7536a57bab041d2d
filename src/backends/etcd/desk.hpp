// SPDX-License-Identifier: MIT
#pragma once

#include "backends/etcd/bundler.hpp"
#include "backends/etcd/keys.hpp"
#include "backends/etcd/link.hpp"
#include "backends/etcd/queue_rules.hpp"
#include "backends/etcd/sessions.hpp"

#include <interlock/backend.hpp>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace interlock::inline v1::etcd_store {

/// A claim of this client, from its first enter to its last leave. Guarded by the desk's mutex but for what never
/// changes.
struct record {
  claim_secret secret{};
  claim_id id{};
  std::string written{};  ///< the name, as it stands in keys
  std::string key{};      ///< chosen with the first session, and kept
  milliseconds lease{}, wait_lease{};

  session_ptr full{}, brief{};  ///< for the claim when held, and while it waits
  session_ptr attached{};       ///< the one its key belongs to
  claim_text said{};            ///< as last written
  revision created = 0;         ///< 0: not known to be there
  revision modified = 0;
  bool held = false;
  std::uint64_t token = 0;

  // A full-weight claim that waits knows the keys just before its own, and the watch strikes them off.
  std::vector<std::string> before{};
  bool all_known = false;   ///< there are no others before those
  std::int64_t ahead = 0;   ///< how many there are, about
  revision counted_at = 0;  ///< 0: not known, look instead

  std::vector<session_ptr> risky{};  ///< an enter with these was never answered, and may still happen
  bool burnt = false;                ///< its key may be deleted late, too: nobody else may use it
  instant ends{};                    ///< nobody has looked after it: it is to go then
  bool leaving = false;
  bool evicted = false;

  [[nodiscard]] bool whole() const noexcept { return said.weight == said.capacity; }
  [[nodiscard]] bool upgrading() const noexcept { return said.state == claim_text::condition::upgrading; }
};
using record_ptr = std::shared_ptr<record>;

/// How many keys a waiting claim knows before its own: when they are gone it is its turn, or it asks again.
inline constexpr std::int64_t most_known = 16;

/// All claims of one client and what etcd has said about them: turns questions about claims into transactions, and
/// deletions into news.
class desk final : public link_listener, public std::enable_shared_from_this<desk> {
 public:
  desk(std::shared_ptr<link> along, keyring keys, backend_events& events, reactor& loop, const time_source& time);

  void enter(const claim& who, entry how, inline_work here, completion<standing> done);
  void look(std::span<const claim> whom, completion<standings> done);
  void leave(const claim& who, finality how, inline_work here, completion<departure> done);
  void convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how, completion<standing> done);
  void evict(std::string_view name, const claim_id& who, bool force, completion<bool> done);
  void survey(survey_query what, completion<survey_page> done);
  /// From now on hints are given; returns when they are, or after a while.
  void begin(milliseconds patience);
  void flush() { together_->flush(); }
  void close() noexcept;

  // The watch's news.
  void deleted(std::vector<deletion> keys) override;
  void watching(revision since) override;
  void blind() override;

 private:
  /// Its holder's request about a name is the one that is being served; the next one is when this ends.
  class turn {
   public:
    turn(desk& from, std::string written) : from_(&from), written_(std::move(written)) {}
    turn(turn&& other) noexcept : from_(std::exchange(other.from_, nullptr)), written_(std::move(other.written_)) {}
    turn& operator=(turn&&) = delete;
    ~turn() {
      if (from_ != nullptr) from_->next(written_);
    }

   private:
    desk* from_;
    std::string written_;
  };
  struct name_book {
    std::vector<record_ptr> records{};
    std::deque<unique_function<void(turn)>> queue{};  ///< requests behind the one that is served
    bool busy = false;
  };
  struct enter_job;
  struct look_job;
  struct leave_job;
  struct convert_job;
  struct evict_job;
  struct survey_job;

  /// A key as it was after an attempt to write it again.
  struct rewritten {
    bool done = false;
    revision at = 0;
    std::optional<key_value> found{};  ///< if it was not as we knew it
  };
  struct news {
    enum class kind : std::uint8_t { granted, look_again, evicted };
    kind is = kind::look_again;
    claim_secret whom{};
    standing as{};
  };
  struct recent {
    std::string written{}, key{};
    revision at = 0;
  };

  // Order and records.
  void in_turn(const std::string& written, unique_function<void(turn)> work);
  void next(const std::string& written);
  record_ptr find(const claim_secret& secret);
  record_ptr find_or_make(const claim& who, std::string written);
  void forget(const record_ptr& one);
  void forget_locked(const record_ptr& one, bool and_its_key = true);
  void choose_key(record& one);
  void bury(const claim_secret& secret, bool evicted, milliseconds lease);
  /// Left for good, or evicted: the answer to whoever asks about it.
  std::optional<standing> buried(const claim_secret& secret);

  // What an answer means for a record; with the mutex held.
  void adopt(record& one, const key_value& kv);
  void count(record& one, const std::vector<key_value>& before, std::int64_t ahead, bool all, revision at);
  /// false: it was not among those before it.
  static bool strike_off(record& one, const std::string& key);
  [[nodiscard]] standing held_standing(const record& one, std::int64_t behind) const;
  [[nodiscard]] standing waiting_standing(const record& one, std::uint32_t before) const;
  [[nodiscard]] static standing gone_standing(bool evicted);
  void keep_until(record& one);

  /// Writes the claim's key again, with another lease or other words, if it is as we know it.
  void rewrite(const record_ptr& one, const claim_text& said, const session_ptr& to, std::vector<comparison> when,
               std::vector<operation> also, completion<rewritten> done);
  /// A claim that has been let in gets its full lease; a reader's token is written down.
  void admit(const record_ptr& one, completion<bool> done);
  [[nodiscard]] operation note_writer(const std::string& written, const session_ptr& notes) const;

  // Time: what nobody looks after ends, although its session goes on.
  void arm(instant when);
  void sweep();
  void remove_later(const record_ptr& one);
  [[nodiscard]] static bool time_over(const desk& at, const record& one);
  void tell(std::vector<news>& all);
  void told(const deletion& one, std::vector<news>& out);
  void told_about(const record_ptr& one, const deletion& gone, std::vector<news>& out) const;

  const std::shared_ptr<link> link_;
  const std::shared_ptr<bundler> together_;
  const keyring keys_;
  backend_events& events_;
  reactor& loop_;
  const time_source& time_;
  sessions sessions_;

  std::mutex mutex_;
  std::unordered_map<claim_secret, record_ptr> records_;
  std::map<claim_id, record_ptr> by_id_;
  std::unordered_map<std::string, name_book> names_;
  std::set<std::string> keys_in_use_;  // those with a late enter included: never used again
  std::deque<recent> recent_;          // deletions that an answer under way may have to count
  revision forgotten_at_ = 0;          // older ones than this are not among them
  struct tomb {
    instant ends{};
    bool evicted = false;
  };
  std::unordered_map<claim_secret, tomb> tombs_;
  instant armed_ = instant::max();
  std::condition_variable seeing_;
  revision seen_since_ = 0;  // deletions after this one are told; 0: none
  bool was_blind_ = false;
  bool closed_ = false;
};

}  // namespace interlock::inline v1::etcd_store
