// SPDX-License-Identifier: MIT
#pragma once

#include "core/brief_mutex.hpp"
#include "core/random.hpp"
#include "engine/cell_desk.hpp"
#include "engine/hold.hpp"
#include "engine/loop.hpp"
#include "engine/notifier.hpp"
#include "engine/records.hpp"
#include "engine/slot_table.hpp"

#include <interlock/backend.hpp>
#include <interlock/client.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace interlock::inline v1::runtime {

/// What an engine stands on; tests bring their own.
struct foundation {
  const time_source* time = &real_time();
  std::unique_ptr<runtime::loop> loop{};
  backend_factory connect{};  ///< unset: by the URL's scheme
};

/// One acquisition as the caller asked for it, before it is checked.
struct wanted_claim {
  std::string_view name;
  const acquire_options& options;
  entry how = entry::queue;
  std::uint32_t limit = 0;  ///< of a semaphore; 0: a lock
};

/// Somebody who wants to hear of jeopardy, recovery and loss.
struct watcher final : subscription::source {
  explicit watcher(std::function<void(lock_state)> call) : call_(std::move(call)) {}
  void tell(lock_state news);
  void end() noexcept override;

 private:
  std::recursive_mutex mutex_;  // held during the call, so that end() waits for it; a call may end itself
  std::function<void(lock_state)> call_;
};

/// Runs the claims of one client: carries out what the pure machines of core/ decide.
///
/// Any thread may turn it: callers do their own asking, the loop's thread has the timers, a store's thread brings
/// answers. One mutex guards the records; it is never held while the store, user code or a sleeper is called.
class engine final : public backend_events {
 public:
  static result<std::shared_ptr<engine>> open(std::string_view url, client_options options, foundation base);
  engine(const store_url& url, client_options options, foundation base);
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  ~engine();

  // Asking. The client handle goes into the holds, which keep it alive.
  result<hold_ptr> acquire(std::shared_ptr<detail::client_handle> client, const wanted_claim& wanted,
                           const std::stop_token& stop);
  /// Fills the request, which has its client, and starts it; it is announced when done. A failure: it was refused and
  /// is not started.
  result<void> begin_async(const wanted_claim& wanted, std::shared_ptr<request> kept);
  void cancel(request& one, const failure& why) noexcept;

  // Holding.
  result<void> release(detail::hold& held) noexcept;
  void begin_release(detail::hold& held, std::shared_ptr<request> kept);
  /// The destructor's release: does not wait.
  void let_go(detail::hold& held) noexcept;
  result<void> upgrade(detail::hold& held, std::optional<milliseconds> wait, const std::stop_token& stop);
  result<void> downgrade(detail::hold& held);
  std::stop_token stop_token_of(detail::hold& held);
  subscription watch(detail::hold& held, std::function<void(lock_state)> call);
  void publish(detail::hold& held);
  void forget(detail::hold& held) noexcept;  // its last guard has gone

  // Looking around.
  result<survey_page> survey(survey_query what);
  result<bool> evict(std::string_view name, const claim_id& who, bool force);
  result<std::vector<store_check>> examine();

  // Cells.
  /// A failure: it was refused, and `done` is not called. `name` and `until` are filled in.
  result<cell_desk::job_pointer> begin_cell(std::string_view name, cell_wish what, std::optional<milliseconds> wait,
                                            unique_function<void(result<std::uint32_t>)> done);
  void cancel_cell(const cell_desk::job_pointer& one) noexcept;
  /// nullptr: the store has none.
  [[nodiscard]] const cell_limits* cells() const noexcept;

  [[nodiscard]] const store_traits& traits() const noexcept { return store_->traits(); }
  [[nodiscard]] const std::string& shown_url() const noexcept { return shown_url_; }
  [[nodiscard]] std::string full_name(std::string_view name) const { return options_.prefix + std::string(name); }
  [[nodiscard]] std::string own_name(std::string_view full) const {
    return std::string(full.substr(options_.prefix.size()));
  }
  [[nodiscard]] instant now() const noexcept { return time_.now(); }
  [[nodiscard]] const std::shared_ptr<notifier>& calls() const noexcept { return calls_; }
  [[nodiscard]] bool forked() const noexcept { return born_in_ != fork_generation(); }
  [[gnu::cold]] [[nodiscard]] failure closed_failure() const;

  /// Waiting calls end, holds are released and lost, releases in flight get `linger`; then the store is let go.
  void close() noexcept;
  /// Calls every timer that is due. The loop does; so does a test that moves the clock.
  void tick() noexcept;
  [[nodiscard]] instant next_due();

  // backend_events
  void granted(const claim_secret& who, const standing& as) noexcept override;
  void look_again(const claim_secret& who) noexcept override;
  void evicted(const claim_secret& who) noexcept override;
  void link(bool up) noexcept override;
  void another_server() noexcept override;
  void answers_begin() noexcept override;
  void answers_end() noexcept override;

 private:
  using step = core::claim_machine::step;
  struct ticket;
  struct look_ticket;
  /// While it lives, an answer about this claim that comes on this thread is for this caller.
  struct lone_question {
    const claim_record& about;
    request& asker;
    const lone_question* const outer = std::exchange(lone_, this);

    lone_question(const claim_record& claim, request& one) noexcept : about(claim), asker(one) {}
    lone_question(const lone_question&) = delete;
    lone_question& operator=(const lone_question&) = delete;
    ~lone_question() { lone_ = outer; }
  };

  // engine_requests.cpp
  result<void> fill(request& one, const wanted_claim& wanted) const;
  result<hold_ptr> acquire_in_turn(request& one, const wanted_claim& wanted, const std::stop_token& stop);
  result<void> join(request& one, std::string_view name, aftermath& out, std::shared_ptr<request> kept = {});
  void join_queue(request& one, aftermath& out);
  void finish(request& one, result<hold_ptr> outcome, aftermath& out);
  void grant(request& one, claim_record& claim, aftermath& out);
  hold_ptr new_hold(request& one, claim_record& claim, instant now);
  void answer_queue(slot& at, const failure& why, bool attempts_only, aftermath& out);
  using wait_reason = std::optional<backend::awaited>;
  void wait_for(request& one, wait_reason why, const std::stop_token& stop);
  void sleep(request& one, wait_reason why);
  bool listen(parker& mine, std::uint32_t seen) noexcept;
  [[nodiscard]] static wait_reason awaited_by(const request& one);
  [[nodiscard]] inline_work how_to_ask(const wait_reason& why, bool wakes_early, const aftermath& out) const noexcept;
  void timed_out(request& one, aftermath& out);
  [[gnu::cold]] [[nodiscard]] failure about(const slot& at, const failure& why, std::string_view doing) const;

  // engine_alone.cpp
  // [mutex_]
  [[nodiscard]] bool alone() const noexcept {
    return open_requests_.load(std::memory_order_relaxed) == 0 && !closing_ && cells_->idle();
  }
  [[nodiscard]] bool may_be_alone(const request& one, const std::stop_token& stop) const noexcept {
    return fetches_in_time_ && one.mode == lock_mode::exclusive && one.capacity == lock_capacity && !one.owner &&
           one.wait_until == instant::max() && options_.prefix.empty() && !options_.observer && !stop.stop_possible() &&
           !calls_->is_current();
  }
  bool acquire_alone(request& one, std::string_view name);
  bool granted_alone(request& one, claim_record& claim, const standing& as);
  bool release_alone(detail::hold& held, request& one);
  bool departed_alone(request& one, claim_record& claim, departure how);
  // This thread has asked about the claim alone, and fetches the answer.
  [[nodiscard]] static request* lone_asker(const claim_record& about) noexcept {
    return lone_ != nullptr && &lone_->about == &about ? &lone_->asker : nullptr;
  }

  // engine_claims.cpp
  claim_record& new_claim(slot& at, const request& like, std::uint32_t tokens);
  [[nodiscard]] claim told(const claim_record& one) const noexcept;
  void start(claim_record& one, entry how, aftermath& out);
  void serve(slot& at, aftermath& out);
  void apply(claim_record& one, step next, aftermath& out);
  void say(claim_record& one, const step& next, aftermath& out);
  void deliver(claim_record& one, aftermath& out);
  void claim_lost(claim_record& one, loss_reason reason, aftermath& out);
  void claim_failed(claim_record& one, const failure& why, aftermath& out);
  void claim_left(claim_record& one, departure how, aftermath& out);
  void detach(claim_record& one) noexcept;
  void hand_over(claim_record& one, aftermath& out);
  void release_claim(claim_record& one, aftermath& out);
  bool refresh(claim_record& one) noexcept;
  void upgrade_looked(claim_record& one, const standing& as, aftermath& out);
  void finish_convert(claim_record& one, result<void> how, aftermath& out);
  void settle_record(claim_record& one) noexcept;

  // engine_store.cpp: questions out, answers in
  void run(aftermath& out);
  void wake(aftermath& out);
  /// For what nobody waits for: a callback leaves it for the end of its turn, see listen(); others do it at once.
  [[nodiscard]] inline_work without_waiting() const noexcept {
    return calls_->is_working() ? inline_work::together : inline_work::if_brief;
  }
  template <class F>
  void on_push(F&& change) noexcept;
  void ask(const aftermath::question& what, instant sent, inline_work here);
  void ask_enter(const claim& asked, claim_record& about, entry how, instant sent, inline_work here);
  void ask_leave(const claim& asked, claim_record& about, finality how, instant sent, inline_work here);
  void entered(claim_record& one, instant sent, const result<standing>& got) noexcept;
  void departed(claim_record& one, const result<departure>& got) noexcept;
  void send_looks(inline_work here);
  void ask_convert(claim_record& one, const claim& asked, lock_mode mode, std::uint32_t weight, entry how,
                   instant sent);
  void ask_looks(std::vector<claim_record*> whom, instant sent, inline_work here);
  void batch_over(instant sent) noexcept;
  template <class F>
  void on_answer(F&& change) noexcept;
  backend::arrival read_together(bool wait) noexcept;
  void unpin(claim_record& one) noexcept;
  [[nodiscard]] bool is_open();
  template <class T, class F>
  result<T> ask_and_wait(F start);

  // Index by secret.
  claim_record* find(const claim_secret& secret) noexcept;
  void index(claim_record& one);
  void unindex(claim_record& one) noexcept;

  // [mutex_], hence no need for an atomic addition
  void count_open(int by) noexcept {
    open_requests_.store(open_requests_.load(std::memory_order_relaxed) + static_cast<std::size_t>(by),
                         std::memory_order_relaxed);
  }
  [[nodiscard]] result<void> check_name(std::string_view name) const;
  result<slot*> slot_of(std::string_view full, std::string_view shown);
  void leave_slot(slot& at) noexcept;
  void leave_forgotten() noexcept;
  void set_alarm(alarm& what, instant due);
  void wake_loop();
  void change_state(detail::hold& held, lock_state to);
  void emit(event_kind kind, const slot& at, const claim_secret& who, boot_clock::duration took, loss_reason loss,
            const failure* why) {
    if (options_.observer) tell_observer(kind, at, who, std::chrono::floor<milliseconds>(took), loss, why);
  }
  [[gnu::cold]] void tell_observer(event_kind kind, const slot& at, const claim_secret& who, milliseconds took,
                                   loss_reason loss, const failure* why);
  // engine_holds.cpp
  result<void> release_in_turn(detail::hold& held, request& one);
  bool begin_leaving(detail::hold& held, request* waiter, aftermath& out, result<void>& done);
  result<void> convert(detail::hold& held, lock_mode mode, std::optional<milliseconds> wait,
                       const std::stop_token& stop);
  void converted(claim_record& one, instant sent, result<standing> got, aftermath& out);
  void adopt_mode(claim_record& one, const standing& as, aftermath& out);
  void take_back_upgrade(claim_record& one);

  client_options options_;
  std::string shown_url_;
  const time_source& time_;
  std::shared_ptr<notifier> calls_;
  std::unique_ptr<loop> loop_;
  std::unique_ptr<backend> store_;
  claim_origin origin_;
  unsigned born_in_;
  milliseconds lease_{}, linger_{}, patience_{};
  std::shared_ptr<cell_desk> cells_;
  bool fetches_answers_ = false;                                              // the store: see inline_work::with_answer
  bool fetches_in_time_ = false;                                              // in less time than our patience
  static inline constinit thread_local const lone_question* lone_ = nullptr;  // the innermost of this thread

  // The callback thread's alone.
  aftermath gathered_{instant{}};  // of answers that come together
  std::size_t answers_gathered_ = 0;
  bool answering_ = false;             // it has the mutex, between answers_begin() and answers_end()
  std::array<slot*, 64> forgotten_{};  // of holds that have gone; left when the mutex is locked for something else
  std::size_t forgotten_count_ = 0;

  core::brief_mutex mutex_;  // everything below
  core::kernel_random random_;
  core::timetable timetable_;
  instant loop_awake_ = instant::max();  // it calls tick() no later than this
  slot_table slots_;
  std::size_t idle_slots_ = 0;
  std::vector<claim_record*> buckets_;
  std::size_t indexed_ = 0;
  std::vector<std::unique_ptr<claim_record>> records_;  // all ever made
  std::vector<claim_record*> spare_;
  std::vector<claim_record*> look_backlog_;
  std::vector<instant> looks_under_way_;       // batches, by when they were sent
  std::uint32_t leaving_ = 0;                  // claims whose leave is not answered
  std::atomic<std::size_t> open_requests_{0};  // callers that wait for something; a hint without the mutex
  std::uint64_t dropped_events_ = 0;
  std::shared_ptr<std::atomic<std::size_t>> events_waiting_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::condition_variable_any quiet_;
  std::atomic<bool> closing_{false};
  bool closed_ = false;
};

}  // namespace interlock::inline v1::runtime

namespace interlock::inline v1::detail {

/// What client copies and holds share: the last one closes the engine.
class client_handle {
 public:
  explicit client_handle(std::shared_ptr<runtime::engine> engine) noexcept : engine_(std::move(engine)) {}
  client_handle(const client_handle&) = delete;
  client_handle& operator=(const client_handle&) = delete;
  ~client_handle();
  [[nodiscard]] runtime::engine& engine() const noexcept { return *engine_; }
  static client make_client(std::shared_ptr<client_handle> handle) noexcept;
  static const std::shared_ptr<client_handle>& of(const client& which) noexcept;

 private:
  std::shared_ptr<runtime::engine> engine_;
};

}  // namespace interlock::inline v1::detail
