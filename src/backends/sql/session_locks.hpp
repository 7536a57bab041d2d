// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/session_words.hpp"
#include "backends/sql/way.hpp"
#include "core/brief_mutex.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace interlock::inline v1::sql {

/// The questions of a backend, answered with the locks of one session. The server knows a session and a key, and grants
/// a session what it has already; who of this client holds what, for how long, and who waits, is known here. With the
/// session all of it ends.
class session_locks : public std::enable_shared_from_this<session_locks> {
 public:
  session_locks(std::unique_ptr<session_words> words, const backend_environment& environment);
  /// Before anything is asked.
  void use(const std::shared_ptr<way>& to) { way_ = to; }

  void enter(const claim& who, entry how, inline_work here, completion<standing> done);
  void look(std::span<const claim> whom, inline_work here, completion<standings> done);
  void leave(const claim& who, finality how, inline_work here, completion<departure> done);
  void show(const std::string& name, completion<survey_page> done);
  void examine(completion<std::vector<store_check>> done);
  /// The session is over: whoever held something is told.
  void session_ended();

 private:
  /// A key, and who of this client has it, asks the server for it, or waits.
  struct room {
    std::string key{};
    std::vector<std::string> names{};
    std::uint32_t readers = 0, writers = 0;
    std::unordered_set<claim_secret> waiting{};
    [[nodiscard]] bool is_empty() const noexcept { return readers == 0 && writers == 0 && waiting.empty(); }
  };
  struct known {
    enum class state : std::uint8_t { asking, waiting, held };
    state is = state::asking;
    room* at = nullptr;
    bool shared = false;
    bool queues = false;
    milliseconds lease{}, wait_lease{};
    instant ends{};
    bool left = false;               // while it was being asked for
    completion<departure> leaver{};  // waits for what became of it
  };
  /// A claim that has ended here: what the server is told, if it knew of it, and who had to wait.
  struct parting {
    session_words::statement unlock{};
    std::vector<claim_secret> waiting{};
    completion<departure> leaver{};
  };
  struct round;
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
  };
  using claim_map = std::unordered_map<claim_secret, known>;

  [[nodiscard]] result<room*> room_of(std::string_view name);
  void tidy(room& one);
  [[nodiscard]] static bool occupy(const known& one);
  void vacate(const known& one);
  void wait(const claim_secret& who, known& one);
  void forget(claim_map::iterator which);
  [[nodiscard]] parting part(claim_map::iterator which);
  [[nodiscard]] std::optional<result<standing>> note(const claim& who, entry how, session_words::statement& question);
  [[nodiscard]] std::optional<result<standing>> answer_here(claim_map::iterator which);
  void answered(const claim_secret& who, const result<bool>& got, completion<standing> done);
  [[nodiscard]] result<standing> settle(const claim_secret& who, const result<bool>& got, std::vector<parting>& undo);
  [[nodiscard]] result<standing> confirm(const claim_secret& who, const result<bool>& got);
  void put_right(std::vector<parting> left);
  void unlock(parting one, inline_work here);
  void have_patience(milliseconds lease);
  void expire_at(instant when);
  void expire();
  void ping_later(milliseconds pause);
  void bury(const claim& who);
  [[nodiscard]] result<bool> read(const result<const rows*>& got, std::size_t row);
  void send(session_words::statement&& what, inline_work here, errand::rows_handler&& done);

  const std::unique_ptr<session_words> words_;
  reactor& loop_;
  const time_source& time_;
  backend_events& events_;
  std::shared_ptr<way> way_;

  core::brief_mutex mutex_;  // everything below
  claim_map claims_;
  std::unordered_map<std::string, room> rooms_;  // by key
  std::unordered_map<std::string, room*, text_hash, std::equal_to<>> names_;
  std::unordered_map<claim_secret, instant> graves_;     // left finally: a late enter has no effect
  std::atomic<milliseconds> patience_{milliseconds{0}};  // of the server with a silent session; 0: for ever
  bool pinging_ = false;
  instant expire_at_ = instant::max();
};

}  // namespace interlock::inline v1::sql
