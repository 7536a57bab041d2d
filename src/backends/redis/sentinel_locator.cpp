// SPDX-License-Identifier: MIT
#include "backends/redis/sentinel_locator.hpp"

#include <charconv>
#include <utility>

namespace interlock::inline v1::redis_store {
namespace {

// A sentinel that does not answer must not cost the time in which another one would.
constexpr milliseconds sentinel_patience{1'000};

connection_settings for_sentinels(connection_settings from) {
  from.database = 0;
  from.replica_is_fine = true;  // it says it is a sentinel
  from.timeout = std::min(from.timeout, sentinel_patience);
  from.connect_timeout = std::min(from.connect_timeout, sentinel_patience);
  return from;
}

connection_settings without_credentials(connection_settings from) {
  from.user.clear();
  from.password = {};
  return from;
}

// The kinds of "wrong password", "password needed", and what different versions say to a password that they need not.
bool is_refusal(const failure& why) { return why.kind() == errc::denied || why.kind() == errc::unsupported; }

class shared_locator final : public locator {
 public:
  explicit shared_locator(std::shared_ptr<sentinel_locator> to) : to_(std::move(to)) {}
  ~shared_locator() override { to_->close(); }
  shared_locator(const shared_locator&) = delete;
  shared_locator& operator=(const shared_locator&) = delete;
  void find(unique_function<void(result<endpoint>)> done) override { to_->find(std::move(done)); }
  void close() noexcept override { to_->close(); }

 private:
  std::shared_ptr<sentinel_locator> to_;
};

}  // namespace

std::unique_ptr<locator> make_sentinel_locator(const backend_environment& environment, std::vector<endpoint> sentinels,
                                               std::string master, const connection_settings& settings) {
  return std::make_unique<shared_locator>(
      std::make_shared<sentinel_locator>(environment, std::move(sentinels), std::move(master), settings));
}

sentinel_locator::sentinel_locator(const backend_environment& environment, std::vector<endpoint> sentinels,
                                   std::string master, const connection_settings& settings)
    : loop_(environment.loop),
      time_(environment.time),
      master_(std::move(master)),
      settings_(for_sentinels(settings)),
      bare_settings_(without_credentials(settings_)) {
  for (auto& one : sentinels) sentinels_.push_back({.where = std::move(one)});
}

void sentinel_locator::find(unique_function<void(result<endpoint>)> done) {
  {
    const std::lock_guard lock(mutex_);
    done_ = std::move(done);
    asked_ = 0;
  }
  ask_next(failure(errc::unavailable, "no sentinel was asked"));
}

void sentinel_locator::ask_next(const failure& why) {
  std::shared_ptr<connection> next;
  {
    const std::lock_guard lock(mutex_);
    if (!done_) return;
    refusal_.reset();
    if (asked_++ < sentinels_.size()) next = connect(sentinels_[next_++ % sentinels_.size()]);
  }
  if (!next)
    return finish(
        failure(why.kind(), "no sentinel knows the master \"" + master_ + "\"; the last one: " + why.message()));
  next->open();
}

// [mutex_]
std::shared_ptr<connection> sentinel_locator::connect(sentinel& to) {
  return current_ = std::make_shared<connection>(to.where, to.bare ? bare_settings_ : settings_, loop_, time_, *this);
}

void sentinel_locator::up(connection& which, const server_facts&) noexcept {
  which.send(packet({"SENTINEL", "get-master-addr-by-name", master_}), inline_work::never,
             [self = shared_from_this(), &which](const result<reply>& got) { self->answered(which, got); });
}

void sentinel_locator::down(connection& which, const failure& why) noexcept {
  std::shared_ptr<connection> again;
  std::optional<failure> last;
  {
    const std::lock_guard lock(mutex_);
    if (current_.get() != &which) return;
    current_ = nullptr;
    auto& who = sentinels_[(next_ - 1) % sentinels_.size()];
    if (is_refusal(why) && !refusal_ && knows_credentials()) {
      refusal_ = why;
      who.bare = !who.bare;
      again = connect(who);
    } else if (refusal_ || why.kind() == errc::denied) {
      last = explained(who, why);
    }
  }
  if (again) return again->open();
  ask_next(last.value_or(why));
}

// [mutex_]
failure sentinel_locator::explained(const sentinel& who, const failure& why) const {
  if (!refusal_)
    return failure(why.kind(), why.message() + " (sentinel_user and sentinel_password, if the servers have others)");
  const auto& with = who.bare ? *refusal_ : why;
  return failure(errc::denied, with.message() + "; and without user and password this sentinel refuses too: "
                                                "it needs the right sentinel_user and sentinel_password");
}

// [on the connection's own way of calling] Whatever it said, it is not needed any more.
void sentinel_locator::answered(connection& which, const result<reply>& got) {
  std::shared_ptr<connection> over;
  {
    const std::lock_guard lock(mutex_);
    if (current_.get() != &which) return;
    over = std::exchange(current_, nullptr);
  }
  result<endpoint> found = failure(errc::unavailable, which.where().shown() + ": it knows no such master");
  if (!got) {
    found = is_refusal(got.error()) ? failure(errc::denied, which.where().shown() + ": " + got.error().message())
                                    : got.error();
  } else if (got->size() == 2) {
    endpoint where;
    where.host = (*got)[0].text();
    const auto port = (*got)[1].text();
    const auto [end, wrong] = std::from_chars(port.data(), port.data() + port.size(), where.port);
    if (wrong == std::errc{} && end == port.data() + port.size() && !where.host.empty()) found = where;
  }
  over->close();
  if (!found) return ask_next(found.error());
  {
    const std::lock_guard lock(mutex_);
    --next_;  // it knew: begin with it the next time
  }
  finish(found);
}

void sentinel_locator::finish(const result<endpoint>& found) {
  unique_function<void(result<endpoint>)> done;
  {
    const std::lock_guard lock(mutex_);
    done = std::move(done_);
  }
  if (done) done(found);
}

void sentinel_locator::close() noexcept {
  std::shared_ptr<connection> over;
  {
    const std::lock_guard lock(mutex_);
    done_ = {};
    over = std::exchange(current_, nullptr);
  }
  if (over) over->close();
}

}  // namespace interlock::inline v1::redis_store
