// SPDX-License-Identifier: MIT
#include "backends/mysql/talk.hpp"

#include "backends/mysql/server_error.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <exception>

/// Connector/C's non-blocking calls: each begins with x_start, which says what to wait for, and goes on with x_cont.
/// https://mariadb.com/kb/en/using-the-non-blocking-library/
namespace interlock::inline v1::mysql_store {
namespace {

constexpr milliseconds slice{50};  // how soon a cancelled one notices

}  // namespace

failure talk::wrong(unsigned number, const char* text) {
  number_ = is_of_the_client(number) ? 0 : number;
  return server_failure(number, text);
}

result<int> talk::await(int what) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until_ - boot_clock::now());
    if (cancelled_.load()) return failure(errc::closed);
    if (left <= milliseconds{0}) return failure(errc::unavailable, "no connection in time");
    const int events = ((what & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) | ((what & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0);
    pollfd one{mysql_get_socket(with_), static_cast<short>(events), 0};
    if (::poll(&one, 1, static_cast<int>(std::min(left, slice).count())) > 0)
      return what & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
  }
}

template <class Start, class Continue>
result<void> talk::run(Start start, Continue go_on) {
  for (int waits = start(); waits != 0;) {
    const auto ready = await(waits);
    if (!ready) {
      // A call that was begun has to end before anything else can: it finds the socket shut.
      ::shutdown(mysql_get_socket(with_), SHUT_RDWR);
      while (waits != 0) waits = go_on(waits);
      return ready.error();
    }
    waits = go_on(*ready);
  }
  return {};
}

result<void> talk::connect(const mysql_settings& settings, const std::pair<std::string, std::uint16_t>& host) {
  std::string password;
  try {
    if (settings.password) password = settings.password();
  } catch (const std::exception& why) {
    return failure(errc::denied, std::string("no password: ") + why.what());
  }
  const auto text = [](const std::string& from) { return from.empty() ? nullptr : from.c_str(); };
  MYSQL* made = nullptr;
  auto done = run(
      [&] {
        return mysql_real_connect_start(&made, with_, text(host.first), text(settings.user), text(password), nullptr,
                                        host.second, text(settings.socket), CLIENT_MULTI_RESULTS);
      },
      [&](int ready) { return mysql_real_connect_cont(&made, with_, ready); });
  if (!done) return done;
  if (made == nullptr) return wrong(mysql_errno(with_), mysql_error(with_));
  return {};
}

result<text_rows> talk::say(const std::string& text) {
  int failed = 0;
  if (auto done = run([&] { return mysql_real_query_start(&failed, with_, text.data(), text.size()); },
                      [&](int ready) { return mysql_real_query_cont(&failed, with_, ready); });
      !done)
    return done.error();
  if (failed != 0) return wrong(mysql_errno(with_), mysql_error(with_));
  MYSQL_RES* got = nullptr;
  if (auto done = run([&] { return mysql_store_result_start(&got, with_); },
                      [&](int ready) { return mysql_store_result_cont(&got, with_, ready); });
      !done)
    return done.error();
  if (got == nullptr && mysql_errno(with_) != 0) return wrong(mysql_errno(with_), mysql_error(with_));
  number_ = 0;
  const my_rows rows(got);
  return read_rows(got);
}

text_rows read_rows(MYSQL_RES* from) {
  text_rows out;
  while (auto* const row = from != nullptr ? mysql_fetch_row(from) : nullptr) {
    const auto* const lengths = mysql_fetch_lengths(from);
    auto& one = out.emplace_back();
    for (unsigned i = 0; i < mysql_num_fields(from); ++i)
      one.emplace_back(row[i] == nullptr ? "" : row[i], row[i] == nullptr ? 0 : lengths[i]);
  }
  return out;
}

result<my_statement> talk::prepare(const std::string& text) {
  my_statement out(mysql_stmt_init(with_));
  int failed = 0;
  if (auto done = run([&] { return mysql_stmt_prepare_start(&failed, out.get(), text.data(), text.size()); },
                      [&](int ready) { return mysql_stmt_prepare_cont(&failed, out.get(), ready); });
      !done)
    return done.error();
  if (failed != 0) return wrong(mysql_stmt_errno(out.get()), mysql_stmt_error(out.get()));
  return out;
}

}  // namespace interlock::inline v1::mysql_store
