// SPDX-License-Identifier: MIT
#include <interlock/latch.hpp>

#include "core/latch_rules.hpp"
#include "core/names.hpp"
#include "engine/engine.hpp"

#include <memory>
#include <utility>

namespace interlock::inline v1 {
namespace {

/// A wish about a cell that is an operation of the caller.
template <class T>
class cell_operation final : public detail::keeping_operation<T>,
                             public std::enable_shared_from_this<cell_operation<T>> {
 public:
  explicit cell_operation(std::shared_ptr<detail::client_handle> handle)
      : detail::keeping_operation<T>(*handle->engine().calls()), handle_(std::move(handle)) {}

  void begin(std::string_view name, runtime::cell_wish what, std::optional<milliseconds> wait,
             const std::stop_token& stop) {
    if (stop.stop_requested())
      return this->finish(failure(errc::cancelled, "cancelled before it was asked for"), nullptr);
    const auto self = this->shared_from_this();
    auto begun = handle_->engine().begin_cell(
        name, std::move(what), wait,
        [self, shown = std::string(name)](result<std::uint32_t> got) { self->over(std::move(got), shown); });
    if (!begun) return this->finish(begun.error(), self);
    job_ = std::move(*begun);
    if (stop.stop_possible() && !this->ready()) listening_.emplace(stop, on_stop{this});
  }
  void cancel() noexcept override {
    if (job_) handle_->engine().cancel_cell(job_);
  }

 private:
  struct on_stop {
    cell_operation* self;
    void operator()() const noexcept { self->cancel(); }
  };
  void over(result<std::uint32_t> got, const std::string& name) noexcept {
    const auto self = this->shared_from_this();
    if (!got)
      this->finish(failure(got.error().kind(), handle_->engine().traits().store + ": latch " + core::shown_name(name) +
                                                   ": " + got.error().message()),
                   self);
    else if constexpr (std::is_void_v<T>)
      this->finish(result<void>(), self);
    else
      this->finish(*got, self);
  }
  std::shared_ptr<detail::client_handle> handle_;
  runtime::cell_desk::job_pointer job_;
  std::optional<std::stop_callback<on_stop>> listening_;  // only the destructor ends it: it may be running right now
};

/// What is common to all operations of one latch.
struct asker {
  const client& locks;
  const std::string& name;
  std::uint32_t count;
  milliseconds keep;

  [[nodiscard]] core::latch_terms terms() const {
    const auto* limits = detail::client_handle::of(locks)->engine().cells();
    return {name, count, limits != nullptr && limits->counts_only};
  }
  template <class T>
  [[nodiscard]] pending<T> start(core::cell_rule rule, std::optional<milliseconds> wait = {},
                                 const std::stop_token& stop = {}) const {
    auto op = std::make_shared<cell_operation<T>>(detail::client_handle::of(locks));
    op->begin(name, {.name = {}, .rule = std::move(rule), .keep = keep}, wait, stop);
    return pending<T>(op);
  }
  [[nodiscard]] result<std::uint32_t> ask(core::cell_rule rule) const {
    return start<std::uint32_t>(std::move(rule)).get_result();
  }
};

}  // namespace

latch::latch(client locks, std::string_view name, std::uint32_t count, milliseconds keep)
    : locks_(std::move(locks)), name_(name), count_(count), keep_(keep) {
  if (count < 1 || count > count_max)
    throw lock_error(failure(errc::invalid_argument,
                             "a latch's count of " + std::to_string(count) + " is not between 1 and 2147483647"));
  if (keep < std::chrono::seconds{1})
    throw lock_error(failure(errc::invalid_argument, "a latch is to be kept for at least a second"));
}

result<std::uint32_t> latch::attempt_count_down(std::uint32_t by) const {
  const asker me{locks_, name_, count_, keep_};
  return me.ask(core::count_down_rule(me.terms(), by));
}

std::uint32_t latch::count_down(std::uint32_t by) const { return attempt_count_down(by).value(); }

std::uint32_t latch::left() const {
  const asker me{locks_, name_, count_, keep_};
  return me.ask(core::left_rule(me.terms())).value();
}

bool latch::try_wait() const { return left() == 0; }

pending<void> latch::async_wait(std::optional<milliseconds> most, std::stop_token stop) const {
  const asker me{locks_, name_, count_, keep_};
  return me.start<void>(core::wait_rule(me.terms()), most, stop);
}

result<void> latch::attempt_wait(std::optional<milliseconds> most, std::stop_token stop) const {
  return async_wait(most, std::move(stop)).get_result();
}

void latch::wait(std::stop_token stop) const { attempt_wait({}, std::move(stop)).value(); }

bool latch::wait_for(milliseconds most, std::stop_token stop) const {
  const auto opened = attempt_wait(most, std::move(stop));
  if (opened) return true;
  if (opened.error() == errc::busy) return false;
  throw lock_error(opened.error());
}

void latch::arrive_and_wait(std::uint32_t by, std::stop_token stop) const {
  if (count_down(by) > 0) wait(std::move(stop));
}

bool latch::create() const {
  const asker me{locks_, name_, count_, keep_};
  return me.ask(core::create_rule(me.terms())).value() == 1;
}

void latch::reset() const {
  const asker me{locks_, name_, count_, keep_};
  static_cast<void>(me.ask(core::reset_rule(me.terms())).value());
}

}  // namespace interlock::inline v1
