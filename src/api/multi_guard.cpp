// SPDX-License-Identifier: MIT
#include <interlock/multi_guard.hpp>

#include "api/operations.hpp"
#include "core/names.hpp"

#include <interlock/client.hpp>

#include <algorithm>
#include <map>

namespace interlock::inline v1 {

/// Fires when the first of the guards is lost.
class multi_guard::any_lost {
 public:
  explicit any_lost(const std::vector<guard>& all) {
    for (const auto& one : all)
      listening_.push_back(std::make_unique<std::stop_callback<forward>>(one.lost(), forward{source_}));
  }
  [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  struct forward {
    std::stop_source to;
    void operator()() noexcept { to.request_stop(); }
  };
  std::stop_source source_;
  std::vector<std::unique_ptr<std::stop_callback<forward>>> listening_;
};

multi_guard::~multi_guard() {
  while (!held_.empty()) held_.pop_back();  // last taken, first let go
}

multi_guard& multi_guard::operator=(multi_guard&& other) noexcept {
  if (this != &other) {
    const multi_guard let_go(std::move(*this));
    held_ = std::move(other.held_);
    order_ = std::move(other.order_);
    lost_ = std::move(other.lost_);
  }
  return *this;
}

const guard& multi_guard::at(std::string_view name) const {
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const guard& one) { return one.name() == name; });
  if (found == held_.end())
    throw lock_error(failure(errc::invalid_argument, core::shown_name(name) + " is not among the locks held here"));
  return *found;
}

bool multi_guard::valid() const noexcept {
  return !held_.empty() && std::all_of(held_.begin(), held_.end(), [](const guard& one) { return one.valid(); });
}

std::stop_token multi_guard::lost() const noexcept { return lost_ ? lost_->token() : std::stop_token{}; }

result<void> multi_guard::release() noexcept {
  result<void> first;
  std::for_each(held_.rbegin(), held_.rend(), [&](guard& one) {
    if (auto done = one.release(); !done && first) first = done;
  });
  return first;
}

/// Takes several locks one after the other in the one order everybody uses, so that nobody waits in a circle.
class multi_acquisition {
 public:
  multi_acquisition(std::span<const wanted> names, const acquire_options& options, const runtime::engine& clock)
      : options_(options), clock_(clock) {
    for (const auto& one : names) {
      auto& mode = modes_.try_emplace(std::string(one.name), one.mode).first->second;
      if (one.mode == lock_mode::exclusive) mode = one.mode;
    }
    for (const auto& one : names)
      order_.push_back(static_cast<std::size_t>(std::distance(modes_.begin(), modes_.find(one.name))));
    next_ = modes_.begin();
    if (options.wait) until_ = clock_.now() + *options.wait;
  }

  [[nodiscard]] bool done() const noexcept { return next_ == modes_.end(); }
  [[nodiscard]] const std::string& name() const noexcept { return next_->first; }
  [[nodiscard]] acquire_options options() const {
    auto out = options_;
    out.mode = next_->second;
    if (until_) out.wait = std::max(std::chrono::ceil<milliseconds>(*until_ - clock_.now()), milliseconds{0});
    return out;
  }
  void got(guard one) {
    held_.push_back(std::move(one));
    ++next_;
  }
  multi_guard finish() {
    multi_guard out;
    out.held_ = std::move(held_);
    out.order_ = std::move(order_);
    out.lost_ = std::make_shared<multi_guard::any_lost>(out.held_);
    return out;
  }

 private:
  acquire_options options_;
  const runtime::engine& clock_;  // of the client, which outlives this
  std::map<std::string, lock_mode, std::less<>> modes_;
  std::map<std::string, lock_mode, std::less<>>::iterator next_;
  std::vector<std::size_t> order_;
  std::vector<guard> held_;
  std::optional<instant> until_;
};

namespace {

/// The asynchronous form: each grant starts the next request; a failure lets go of all.
class multi_operation final : public detail::keeping_operation<multi_guard>,
                              public std::enable_shared_from_this<multi_operation> {
 public:
  multi_operation(client locks, std::span<const wanted> names, const acquire_options& options, std::stop_token stop)
      : keeping_operation(*detail::client_handle::of(locks)->engine().calls()),
        locks_(std::move(locks)),
        plan_(names, options, detail::client_handle::of(locks_)->engine()),
        stop_(std::move(stop)) {}

  void go_on() {
    const auto keep = shared_from_this();
    if (plan_.done()) return finish(plan_.finish(), keep);
    auto next = locks_.async_acquire(plan_.name(), plan_.options(), either_.token());
    next.then([keep](result<guard> got) {
      if (!got) return keep->finish(got.error(), keep);
      keep->plan_.got(std::move(*got));
      keep->go_on();
    });
  }
  void cancel() noexcept override { cancelled_.request_stop(); }

 private:
  client locks_;
  multi_acquisition plan_;
  std::stop_token stop_;
  std::stop_source cancelled_;
  stop_either either_{stop_, cancelled_.get_token()};
};

}  // namespace

result<multi_guard> client::attempt_all(std::span<const wanted> names, acquire_options options,
                                        std::stop_token stop) const {
  if (names.empty()) return failure(errc::invalid_argument, "no lock names given");
  multi_acquisition plan(names, options, handle_->engine());
  while (!plan.done()) {
    auto got = attempt(plan.name(), plan.options(), stop);
    if (!got) return got.error();
    plan.got(std::move(*got));
  }
  return plan.finish();
}

multi_guard client::acquire_all(std::span<const wanted> names, acquire_options options, std::stop_token stop) const {
  auto got = attempt_all(names, options, std::move(stop));
  if (!got) throw lock_error(got.error());
  return std::move(*got);
}

multi_guard client::acquire_all(std::initializer_list<wanted> names, acquire_options options,
                                std::stop_token stop) const {
  return acquire_all(std::span(names.begin(), names.size()), options, std::move(stop));
}

pending<multi_guard> client::async_acquire_all(std::span<const wanted> names, acquire_options options,
                                               std::stop_token stop) const {
  if (names.empty()) throw lock_error(failure(errc::invalid_argument, "no lock names given"));
  auto op = std::make_shared<multi_operation>(*this, names, options, std::move(stop));
  op->go_on();
  return pending<multi_guard>(op);
}

}  // namespace interlock::inline v1
