// SPDX-License-Identifier: MIT
#pragma once

// The SQLite store, driven through the backend interface alone: no engine, a reactor of a dozen lines, a clock that can
// be moved by hand, and a second way into the file.

#include "backends/sqlite/sqlite_store.hpp"

#include <interlock/backend.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace interlock::test {

using namespace std::chrono_literals;

/// A folder of its own, gone afterwards.
class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "interlock-sqlite-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    path_ = name;
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name = "locks.db") const { return path_ + '/' + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Real time plus what the test added.
class moved_clock final : public time_source {
 public:
  [[nodiscard]] instant now() const noexcept override {
    return boot_clock::now() + std::chrono::nanoseconds(ahead_.load());
  }
  void advance(std::chrono::nanoseconds by) { ahead_ += by.count(); }

 private:
  std::atomic<std::int64_t> ahead_{0};
};

/// A thread that polls.
class poll_reactor final : public reactor {
 public:
  poll_reactor() : thread_([this] { run(); }) {}
  ~poll_reactor() override {
    stop_ = true;
    thread_.join();
  }
  poll_reactor(const poll_reactor&) = delete;
  poll_reactor& operator=(const poll_reactor&) = delete;

  void post(unique_function<void()> work) override {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  void call_at(instant, unique_function<void()>) override { std::abort(); }  // this store has no timers
  subscription when_readable(int fd, std::function<void()> ready) override {
    const std::lock_guard lock(mutex_);
    auto one = std::make_shared<watch>(*this, fd, std::move(ready));
    watches_.push_back(one);
    return subscription(one);
  }

 private:
  struct watch final : subscription::source {
    watch(poll_reactor& of, int on, std::function<void()> call) : owner(of), fd(on), ready(std::move(call)) {}
    void end() noexcept override {
      const std::lock_guard lock(owner.mutex_);
      owner.watches_.remove_if([this](const auto& one) { return one.get() == this; });
    }
    poll_reactor& owner;
    int fd;
    std::function<void()> ready;
  };
  void run() {
    while (!stop_) {
      std::vector<pollfd> fds;
      {
        const std::lock_guard lock(mutex_);
        for (const auto& one : watches_) fds.push_back({one->fd, POLLIN, 0});
        for (auto& work : std::exchange(work_, {})) work();
      }
      ::poll(fds.data(), fds.size(), 1);
      const std::lock_guard lock(mutex_);  // also keeps end() waiting for a call that is running
      for (const auto& fd : fds)
        for (const auto& one : watches_)
          if (one->fd == fd.fd && (fd.revents & POLLIN) != 0) one->ready();
    }
  }
  std::mutex mutex_;
  std::list<std::shared_ptr<watch>> watches_;
  std::vector<unique_function<void()>> work_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Remembers what the store told without being asked.
class recorder final : public backend_events {
 public:
  void granted(const claim_secret& who, const standing& as) noexcept override { note({who, as, false}); }
  void evicted(const claim_secret& who) noexcept override { note({who, {}, true}); }
  void look_again(const claim_secret&) noexcept override {}
  void link(bool) noexcept override {}
  void another_server() noexcept override {}

  /// Waits for the next grant told to `who`.
  std::optional<standing> grant_of(const claim_secret& who, std::chrono::milliseconds patience = 5s) {
    const auto found = wait(who, false, patience);
    return found ? std::optional(found->as) : std::nullopt;
  }
  bool eviction_of(const claim_secret& who, std::chrono::milliseconds patience = 5s) {
    return wait(who, true, patience).has_value();
  }
  [[nodiscard]] std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return heard_.size();
  }

 private:
  struct heard {
    claim_secret who;
    standing as;
    bool evicted;
  };
  void note(heard one) noexcept {
    const std::lock_guard lock(mutex_);
    heard_.push_back(one);
    changed_.notify_all();
  }
  std::optional<heard> wait(const claim_secret& who, bool evicted, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    std::optional<heard> out;
    changed_.wait_for(lock, patience, [&] {
      for (const auto& one : heard_)
        if (one.who == who && one.evicted == evicted) out = one;
      return out.has_value();
    });
    return out;
  }
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<heard> heard_;
};

inline claim_secret random_secret() {
  static std::mutex mutex;
  static std::random_device device;
  const std::lock_guard lock(mutex);
  std::array<std::byte, 16> bytes{};
  for (auto& one : bytes) one = static_cast<std::byte>(device());
  return claim_secret(bytes);
}

inline claim make_claim(std::string_view name, milliseconds lease = 30s) {
  claim out;
  out.name = name;
  out.secret = random_secret();
  out.lease = lease;
  out.wait_lease = lease;
  return out;
}
inline claim make_reader(std::string_view name, milliseconds lease = 30s) {
  auto out = make_claim(name, lease);
  out.mode = lock_mode::shared;
  out.weight = 1;
  return out;
}

inline store_url file_url(const std::string& path, const std::string& synchronous = {}) {
  store_url out;
  out.scheme = "sqlite";
  out.path = path;
  if (!synchronous.empty()) out.options["synchronous"] = synchronous;
  return out;
}

/// One client: waits for each answer.
class sqlite_client {
 public:
  explicit sqlite_client(const std::string& path, const time_source& time = real_time(), client_options options = {})
      : sqlite_client(file_url(path), time, std::move(options)) {}
  explicit sqlite_client(store_url where, const time_source& time = real_time(), client_options options = {})
      : url(std::move(where)), wishes(std::move(options)) {
    auto made =
        sqlite_store::open_sqlite({.url = url, .options = wishes, .time = time, .events = events, .loop = loop});
    if (made)
      store = std::move(*made);
    else
      refused = made.error();
  }
  ~sqlite_client() {
    if (store) store->close();
  }
  sqlite_client(const sqlite_client&) = delete;
  sqlite_client& operator=(const sqlite_client&) = delete;

  result<standing> enter(const claim& who, entry how = entry::queue, inline_work where = inline_work::if_brief) {
    return wait<standing>([&](auto done) { store->enter(who, how, where, std::move(done)); });
  }
  result<standings> look(std::span<const claim> whom, inline_work where = inline_work::if_brief) {
    return wait<standings>([&](auto done) { store->look(whom, where, std::move(done)); });
  }
  result<standing> look(const claim& who) {
    auto all = look(std::span(&who, 1));
    if (!all) return all.error();
    return all->front();
  }
  result<departure> leave(const claim& who, finality how = finality::answered) {
    return wait<departure>([&](auto done) { store->leave(who, how, inline_work::if_brief, std::move(done)); });
  }
  result<standing> convert(const claim& who, lock_mode mode, std::uint32_t weight, entry how) {
    return wait<standing>([&](auto done) { store->convert(who, mode, weight, how, std::move(done)); });
  }
  result<bool> evict(std::string_view name, const claim_id& who, bool force) {
    return wait<bool>([&](auto done) { store->evict(name, who, force, std::move(done)); });
  }
  result<survey_page> survey(survey_query what) {
    return wait<survey_page>([&](auto done) { store->survey(std::move(what), std::move(done)); });
  }

  /// The token of a hold taken at once, 0 if it was not.
  std::uint64_t take(const claim& who) {
    const auto got = enter(who, entry::attempt);
    return got && got->is == standing::kind::held ? got->token : 0;
  }

  store_url url;
  client_options wishes;
  recorder events;
  poll_reactor loop;
  std::unique_ptr<backend> store;
  std::optional<failure> refused;

 private:
  template <class T, class Ask>
  result<T> wait(Ask ask) {
    auto answer = std::make_shared<std::promise<result<T>>>();
    auto future = answer->get_future();
    ask(completion<T>([answer](result<T> got) { answer->set_value(std::move(got)); }));
    if (future.wait_for(20s) != std::future_status::ready) return failure(errc::indeterminate, "no answer in 20 s");
    return future.get();
  }
};

/// The file, without interlock.
class raw_database {
 public:
  explicit raw_database(const std::string& path) {
    if (sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(db_));
    sqlite3_db_config(db_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_busy_timeout(db_, 5000);
  }
  ~raw_database() { sqlite3_close(db_); }
  raw_database(const raw_database&) = delete;
  raw_database& operator=(const raw_database&) = delete;

  void run(const std::string& sql) {
    char* error = nullptr;
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &error) == SQLITE_OK) return;
    const std::string text = error != nullptr ? error : "?";
    sqlite3_free(error);
    throw std::runtime_error(text);
  }
  std::int64_t number(const std::string& sql) {
    sqlite3_stmt* made = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &made, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(db_));
    const bool row = sqlite3_step(made) == SQLITE_ROW;
    const auto out = row ? sqlite3_column_int64(made, 0) : -1;
    sqlite3_finalize(made);
    return out;
  }

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace interlock::test
