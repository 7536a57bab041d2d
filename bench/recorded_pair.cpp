// SPDX-License-Identifier: MIT
#if INTERLOCK_WITH_SQLITE
#include "recorded_pair.hpp"

#include <interlock/client.hpp>

#include <memory>
#include <mutex>
#include <stdexcept>

namespace bench {
namespace {

// What connections of this process are asked to do, with the values that were bound, while somebody listens.
struct {
  std::mutex mutex;
  bool listening = false;
  std::vector<std::string> texts;
} tape;

int take_down(unsigned, void*, void* statement, void*) {
  const std::unique_ptr<char, void (*)(void*)> text(sqlite3_expanded_sql(static_cast<sqlite3_stmt*>(statement)),
                                                    sqlite3_free);
  const std::lock_guard lock(tape.mutex);
  if (tape.listening && text) tape.texts.emplace_back(text.get());
  return 0;
}

void listen(bool now) {
  const std::lock_guard lock(tape.mutex);
  tape.listening = now;
}

// SQLite calls this for every connection that is opened.
int listen_to(sqlite3* db, char**, const sqlite3_api_routines*) {
  return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, take_down, nullptr);
}

std::vector<std::string> record(const std::string& file) {
  // Its type says otherwise, but SQLite passes all three arguments: https://www.sqlite.org/c3ref/auto_extension.html
  const auto hook = reinterpret_cast<void (*)()>(listen_to);
  if (sqlite3_auto_extension(hook) != SQLITE_OK) throw std::runtime_error("cannot listen to SQLite");
  const interlock::client locks("sqlite:" + file);
  sqlite3_cancel_auto_extension(hook);
  for (int i = 0; i < 3; ++i) {
    listen(i == 2);  // a name's first pair does more than the ones after it
    const auto done = locks.acquire("orders/42").release();
    done.value();
  }
  listen(false);
  return std::move(tape.texts);
}

}  // namespace

recorded_pair::recorded_pair(const std::string& file) {
  const auto texts = record(file);
  if (texts.size() < 2) throw std::runtime_error("the store's statements were not seen");
  const auto check = [&](int code) {
    if (code != SQLITE_OK) throw std::runtime_error(std::string("playing back: ") + sqlite3_errmsg(db_));
  };
  check(sqlite3_open_v2(file.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr));
  check(sqlite3_exec(db_, "pragma synchronous = normal", nullptr, nullptr, nullptr));
  for (const auto& text : texts)
    check(sqlite3_prepare_v3(db_, text.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statements_.emplace_back(), nullptr));
}

recorded_pair::~recorded_pair() {
  for (auto* one : statements_) sqlite3_finalize(one);
  sqlite3_close_v2(db_);
}

void recorded_pair::play() {
  for (auto* one : statements_) {
    int code = sqlite3_step(one);
    while (code == SQLITE_ROW) code = sqlite3_step(one);
    sqlite3_reset(one);
    if (code != SQLITE_DONE) throw std::runtime_error(std::string("playing back: ") + sqlite3_errmsg(db_));
  }
}

}  // namespace bench
#endif
