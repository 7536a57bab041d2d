// SPDX-License-Identifier: MIT
#pragma once

#include "core/claim_machine.hpp"
#include "core/timetable.hpp"
#include "engine/parker.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace interlock::inline v1::detail {
class hold;
class client_handle;
}  // namespace interlock::inline v1::detail

/// What the engine remembers. Everything here is guarded by the engine's mutex unless it says otherwise.
namespace interlock::inline v1::runtime {

struct claim_record;
struct request;

using hold_ptr = std::shared_ptr<detail::hold>;

/// A doubly linked list through the requests themselves: joining and leaving a queue of any length costs the same.
struct request_list {
  request* first = nullptr;
  request* last = nullptr;
  void push_back(request& one) noexcept;
  void remove(request& one) noexcept;
};

/// One name in this client: its exclusive claim, if any, and the callers of this process who queue for it.
struct slot {
  std::string full{};                    ///< as the store knows it: what this slot is found by
  std::unique_ptr<std::string> shown{};  ///< as the caller said it, if that is not the same
  std::size_t hash = 0;                  ///< this and the next are the table's
  slot* next = nullptr;
  request_list queue{};
  std::uint32_t queued = 0;
  std::uint32_t users = 0;          ///< claims, requests and holds that point here
  claim_record* claim = nullptr;    ///< exclusive, not leaving
  detail::hold* current = nullptr;  ///< who holds `claim` in this process
  [[nodiscard]] const std::string& name() const noexcept { return shown ? *shown : full; }
};

/// Something the timetable calls: a claim's machine, or the end of a caller's wait.
struct alarm : core::timed {
  enum class kind : std::uint8_t { claim, request };
  explicit alarm(kind k) noexcept : what(k) {}
  kind what;
};

/// One claim of this client, from its first question to the last answer about it.
struct claim_record final : alarm {
  claim_record() noexcept : alarm(kind::claim) {}
  core::claim_machine machine{};
  slot* at = nullptr;
  request* sole = nullptr;       ///< a shared or permit claim belongs to one request
  request* upgrade = nullptr;    ///< waits for the claim to become exclusive
  detail::hold* held = nullptr;  ///< the guard's side, while it is held
  claim_record* next = nullptr;  ///< in its bucket of the index by secret
  request* leaver = nullptr;     ///< waits for the answer to leave
  claim_secret secret{};
  std::uint64_t memo = 0;   ///< the store's
  std::uint64_t token = 0;  ///< next unused
  instant run_started{};
  std::uint32_t tokens = 0;      ///< reserved and unused
  std::uint32_t ask_tokens = 1;  ///< to reserve with the next answer
  std::uint32_t weight = 0;
  std::uint32_t capacity = 0;
  std::uint32_t run = 0;   ///< hand-offs since the store's last word
  std::uint32_t pins = 0;  ///< questions under way and holds that refer to it
  lock_mode mode = lock_mode::exclusive;
  bool passing_on = false;  ///< let go here; the store is being asked whether it may be passed on
  bool published = false;
  bool releasing = false;  ///< its holder let go of it while it was held
  bool indexed = false;
  bool leaving = false;  ///< counted by the engine while it waits for the last answers
};

/// One caller's wish. Lives on the stack of a blocking caller, or in an async operation.
struct request : alarm {
  enum class wish : std::uint8_t { acquire, upgrade, leave };
  explicit request(std::shared_ptr<detail::client_handle> from = {}) noexcept
      : alarm(kind::request), client(std::move(from)) {}
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  virtual ~request() = default;

  wish for_what = wish::acquire;
  entry how = entry::queue;
  lock_mode mode = lock_mode::exclusive;
  std::uint32_t weight = lock_capacity;
  std::uint32_t capacity = lock_capacity;
  core::claim_terms terms{};
  std::optional<owner_id> owner{};
  std::shared_ptr<detail::client_handle> client;  ///< kept alive by the hold to come
  instant started{};
  instant wait_until = instant::max();
  slot* at = nullptr;
  claim_record* on = nullptr;
  request* before = nullptr;
  request* after = nullptr;
  bool queued = false;    ///< in its slot's queue
  bool answered = false;  ///< upgrade: the store has put us in line

  parker* sleeper = nullptr;                  ///< blocking
  std::shared_ptr<request> self{};            ///< async: keeps itself alive while the engine knows it
  std::optional<result<hold_ptr>> outcome{};  ///< written before `done`
  std::atomic<bool> done{false};

  /// Async: announces the outcome. Called without the engine's mutex; `kept` is `self`, if the engine had it.
  virtual void announce(std::shared_ptr<request> kept) noexcept { static_cast<void>(kept); }
};

/// What must happen after the engine's mutex is unlocked: questions to the store, wake-ups, announcements. Small enough
/// in the ordinary case to need no memory of its own.
struct aftermath {
  struct question {
    claim_record* about = nullptr;
    core::claim_machine::ask what{};
    entry how{};
    claim told{};  ///< a copy: the record may change while the question is on its way
  };
  /// Room for a few in place, which costs nothing while they are not there.
  template <class T, std::size_t N>
  class short_list {
   public:
    short_list() noexcept {}  // NOLINT(modernize-use-equals-default): then {} would zero the room
    short_list(short_list&& other) noexcept : more_(std::exchange(other.more_, nullptr)) {
      for (; count_ < other.count_; ++count_) std::construct_at(few() + count_, std::move(other.few()[count_]));
    }
    short_list& operator=(short_list&&) = delete;
    ~short_list() {
      std::destroy_n(few(), count_);
      if (more_ != nullptr) [[unlikely]]
        delete more_;
    }

    void push_back(T one) {
      emplace([&]() -> T { return std::move(one); });
    }
    /// What `make` returns comes into being where it is kept.
    template <class F>
    void emplace(F make) {
      if (count_ == N) [[unlikely]]
        return static_cast<void>(more().emplace_back(made_by<F>{make}));
      std::construct_at(few() + count_, made_by<F>{make});
      ++count_;
    }
    template <class F>
    void each(F call) {
      for (std::size_t i = 0; i < count_; ++i) call(few()[i]);
      if (more_ != nullptr) [[unlikely]]
        for (auto& one : *more_) call(one);
    }
    void clear() noexcept {
      std::destroy_n(few(), std::exchange(count_, 0));
      if (more_ != nullptr) more_->clear();
    }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return count_ + (more_ == nullptr ? 0 : more_->size()); }

   private:
    template <class F>
    struct made_by {
      F& make;
      operator T() const { return make(); }
    };
    std::vector<T>& more() {
      if (more_ == nullptr) more_ = new std::vector<T>;
      return *more_;
    }
    [[nodiscard]] T* few() noexcept { return std::launder(reinterpret_cast<T*>(room_)); }
    alignas(T) std::byte room_[N * sizeof(T)];
    std::size_t count_ = 0;
    std::vector<T>* more_ = nullptr;  // hardly ever there: its end is not in the way of all the others'
  };
  instant now{};  ///< taken before anything is sent: every lease counts from here
  inline_work here = inline_work::never;
  short_list<question, 2> questions{};
  short_list<claim_record*, 2> looks{};
  short_list<parker*, 4> sleepers{};
  short_list<std::shared_ptr<request>, 2> announced{};
  explicit aftermath(instant t, inline_work w = inline_work::never) noexcept : now(t), here(w) {}
  /// All of it has happened; its memory is kept.
  void clear() noexcept {
    questions.clear();
    looks.clear();
    sleepers.clear();
    announced.clear();
  }
};

inline void request_list::push_back(request& one) noexcept {
  one.before = last;
  one.after = nullptr;
  (last != nullptr ? last->after : first) = &one;
  last = &one;
}

inline void request_list::remove(request& one) noexcept {
  (one.before != nullptr ? one.before->after : first) = one.after;
  (one.after != nullptr ? one.after->before : last) = one.before;
  one.before = one.after = nullptr;
}

}  // namespace interlock::inline v1::runtime
