// SPDX-License-Identifier: MIT
// Other processes that write for long, die, or stop listening.
#include "backends/sqlite/ledger.hpp"
#include "support/sqlite_harness.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fstream>

namespace interlock::test {
namespace {

using kind = standing::kind;
using clock_now = std::chrono::steady_clock;

struct sqlite_process_test : testing::Test {
  scratch_folder folder;

  /// A process that will queue for a name when told to and then sit there. Made while this one has no other threads:
  /// thread sanitizer wants it so.
  struct doomed_waiter {
    explicit doomed_waiter(const std::string& file) {
      if (pipe(order) != 0 || pipe(report) != 0) throw std::runtime_error("no pipe");
      pid = fork();
      if (pid != 0) return;
      char mark = 0;
      if (read(order[0], &mark, 1) != 1) _exit(1);
      sqlite_client own(file);
      const auto got = own.enter(make_claim("n"));
      mark = got && got->is == kind::waiting ? 'w' : '?';
      if (write(report[1], &mark, 1) != 1) _exit(1);
      for (;;) pause();
    }
    bool queue() const {
      char mark = 'q';
      return write(order[1], &mark, 1) == 1 && read(report[0], &mark, 1) == 1 && mark == 'w';
    }
    void kill_hard() const {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      for (const int fd : {order[0], order[1], report[0], report[1]}) close(fd);
    }
    pid_t pid = -1;
    int order[2]{}, report[2]{};
  };
  std::int64_t claims() const { return raw_database(folder.file()).number("select count(*) from book where seq > 0"); }
};

TEST_F(sqlite_process_test, waiters_killed_in_the_queue_cost_the_next_one_nothing) {
  const std::vector<doomed_waiter> doomed{doomed_waiter(folder.file()), doomed_waiter(folder.file()),
                                          doomed_waiter(folder.file())};
  sqlite_client holder(folder.file());
  const auto first = make_claim("n");
  ASSERT_GT(holder.take(first), 0U);
  for (const auto& one : doomed) ASSERT_TRUE(one.queue());
  sqlite_client live(folder.file());
  const auto last = make_claim("n");
  ASSERT_EQ(live.enter(last)->ahead, 3U);
  for (const auto& one : doomed) one.kill_hard();

  ASSERT_EQ(*holder.leave(first), departure::released);
  EXPECT_TRUE(live.events.grant_of(last.secret)) << "their leases were 30 s";
  EXPECT_EQ(claims(), 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.file() + "-wake"), {}), 2)
      << "what was left of their sockets is removed";
}

TEST_F(sqlite_process_test, a_process_killed_while_holding_keeps_its_lease_and_no_more) {
  const pid_t child = fork();
  if (child == 0) {
    sqlite_client own(folder.file());
    if (own.take(make_claim("n", 700ms)) == 0) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  sqlite_client next(folder.file());
  const auto mine = make_claim("n");
  const auto got = next.enter(mine);
  ASSERT_EQ(got->is, kind::waiting);
  EXPECT_LE(got->look_again_in, 701ms);
  std::this_thread::sleep_for(got->look_again_in + 5ms);
  EXPECT_EQ(next.look(mine)->is, kind::held);
}

TEST_F(sqlite_process_test, a_grant_is_taken_back_only_if_nobody_has_heard_of_it) {
  // The waiter is alive after all, and looks between the grant and the moment it would be taken back.
  using sqlite_store::ledger;
  const auto url = file_url(folder.file());
  const auto open = [&](std::int64_t channel) {
    return *ledger::open(*sqlite_store::find_store_file(url), {.time = &real_time(), .channel = channel, .origin = {}});
  };
  const auto granter = open(1), waiter = open(2);
  const auto change = [](ledger& in, const claim& who, auto act) {
    EXPECT_TRUE(*in.begin());
    const auto answer = in.change(who.name, &who, act);
    EXPECT_TRUE(in.commit());
    return *answer;
  };
  const auto enter = [&](ledger& in, const claim& who) {
    return change(in, who, [&](core::claim_book& book, instant now, core::claim_book::news& out) {
      return book.enter(who, entry::queue, nullptr, now, out);
    });
  };
  const auto look = [&](ledger& in, const claim& who) {
    return change(in, who, [&](core::claim_book& book, instant now, core::claim_book::news& out) {
      return book.look(who, now, out);
    });
  };
  for (const auto lease : {0ms, 30000ms, 10ms}) {  // 0: does not look; 10 ms: looks, and that alone moves no end
    const auto name = "n" + std::to_string(lease.count());
    const auto first = make_claim(name);
    auto second = make_claim(name);
    ASSERT_EQ(enter(*granter, first)->is, kind::held);
    ASSERT_EQ(enter(*waiter, second)->is, kind::waiting);
    change(*granter, first, [&](core::claim_book& book, instant now, core::claim_book::news& out) {
      return book.leave(first, finality::answered, now, out);
    });
    const auto grants = granter->take_notices();
    ASSERT_EQ(grants.size(), 1U);
    EXPECT_EQ(grants[0].channel, 2);
    second.lease = lease;
    if (lease != 0ms) {
      ASSERT_EQ(look(*waiter, second).is, kind::held);
    }

    ASSERT_TRUE(*granter->begin());
    granter->discard(grants[0]);
    ASSERT_TRUE(granter->commit());
    EXPECT_EQ(look(*waiter, second).is, lease == 0ms ? kind::gone : kind::held) << name;
  }
}

TEST_F(sqlite_process_test, a_waiter_whose_socket_vanished_loses_its_place_but_never_a_hold) {
  sqlite_client holder(folder.file()), deaf(folder.file());
  const auto first = make_claim("n"), second = make_claim("n");
  ASSERT_GT(holder.take(first), 0U);
  ASSERT_EQ(deaf.enter(second)->is, kind::waiting);
  raw_database(folder.file()).run("update book set channel = 12345 where seq = 2");
  ASSERT_EQ(*holder.leave(first), departure::released);
  EXPECT_EQ(deaf.look(second)->is, kind::gone);
  EXPECT_GT(holder.take(make_claim("n")), 0U);
}

TEST_F(sqlite_process_test, a_dead_reader_that_waits_to_upgrade_keeps_its_lease) {
  // What it read it may still act upon, or its children may.
  sqlite_client a(folder.file()), b(folder.file());
  const auto dead = make_reader("n"), other = make_reader("n");
  ASSERT_GT(a.take(dead), 0U);
  ASSERT_GT(b.take(other), 0U);
  ASSERT_EQ(a.convert(dead, lock_mode::exclusive, lock_capacity, entry::queue)->is, kind::waiting);
  raw_database(folder.file()).run("update book set channel = 12345 where seq = 1");
  ASSERT_EQ(*b.leave(other), departure::released);
  EXPECT_EQ(b.take(make_claim("n")), 0U);
  EXPECT_EQ(a.look(dead)->is, kind::held);
}

TEST_F(sqlite_process_test, a_removed_socket_folder_says_nothing_about_who_is_alive) {
  sqlite_client holder(folder.file()), waiter(folder.file());
  const auto first = make_claim("n"), second = make_claim("n");
  ASSERT_GT(holder.take(first), 0U);
  ASSERT_EQ(waiter.enter(second)->is, kind::waiting);
  std::filesystem::remove_all(folder.file() + "-wake");
  ASSERT_EQ(*holder.leave(first), departure::released);
  EXPECT_EQ(waiter.look(second)->is, kind::held);
}

TEST_F(sqlite_process_test, strange_datagrams_are_ignored) {
  sqlite_client a(folder.file()), b(folder.file());
  const auto first = make_claim("n"), second = make_claim("n");
  ASSERT_GT(a.take(first), 0U);
  ASSERT_EQ(b.enter(second)->is, kind::waiting);
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  for (const auto& one : std::filesystem::directory_iterator(folder.file() + "-wake")) {
    sockaddr_un where{.sun_family = AF_UNIX, .sun_path = {}};
    one.path().string().copy(where.sun_path, sizeof where.sun_path - 1);
    for (const std::string& text :
         {std::string(), std::string("hello"), std::string(48, '\xff'), std::string(500, 'x')})
      sendto(fd, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&where), sizeof where);
  }
  close(fd);
  ASSERT_EQ(*a.leave(first), departure::released);
  EXPECT_TRUE(b.events.grant_of(second.secret));
  EXPECT_EQ(b.events.count(), 1U);
}

TEST_F(sqlite_process_test, grants_that_overflow_a_slow_readers_socket_arrive_all_the_same) {
  sqlite_client holder(folder.file());
  struct slow_loop final : reactor {  // reads only when told to
    void post(unique_function<void()>) override {}
    void call_at(instant, unique_function<void()>) override {}
    subscription when_readable(int, std::function<void()> ready) override {
      read = std::move(ready);
      return {};
    }
    std::function<void()> read;
  } loop;
  recorder events;
  const auto url = file_url(folder.file());
  const client_options options;
  auto slow =
      sqlite_store::open_sqlite({.url = url, .options = options, .time = real_time(), .events = events, .loop = loop});
  ASSERT_TRUE(slow);
  std::vector<std::string> names;
  for (int i = 0; i < 30; ++i) names.push_back("n" + std::to_string(i));
  std::vector<claim> held, waiting;
  for (const auto& name : names) {
    held.push_back(make_claim(name));
    waiting.push_back(make_claim(name));
    ASSERT_GT(holder.take(held.back()), 0U);
    (*slow)->enter(waiting.back(), entry::queue, inline_work::if_brief, [](result<standing>) {});
  }
  for (const auto& one : held) ASSERT_EQ(*holder.leave(one), departure::released);
  const auto until = clock_now::now() + 5s;
  while (events.count() < names.size() && clock_now::now() < until) {
    std::this_thread::sleep_for(2ms);
    loop.read();
  }
  EXPECT_EQ(events.count(), names.size());
  (*slow)->close();
}

TEST_F(sqlite_process_test, a_busy_file_does_not_hold_the_caller_and_order_is_kept) {
  sqlite_client a(folder.file());
  raw_database writer(folder.file());
  writer.run("begin immediate");
  const auto mine = make_claim("n");
  std::promise<result<standing>> entered;
  std::promise<result<departure>> left;
  const auto start = clock_now::now();
  a.store->enter(mine, entry::queue, inline_work::if_brief,
                 [&](result<standing> got) { entered.set_value(std::move(got)); });
  a.store->leave(mine, finality::answered, inline_work::if_brief,
                 [&](result<departure> got) { left.set_value(std::move(got)); });
  EXPECT_LT(clock_now::now() - start, 500ms);
  auto answer = entered.get_future();
  EXPECT_EQ(answer.wait_for(100ms), std::future_status::timeout);
  writer.run("commit");
  ASSERT_EQ(answer.wait_for(5s), std::future_status::ready);
  EXPECT_EQ(answer.get()->is, kind::held);
  EXPECT_EQ(*left.get_future().get(), departure::released);
}

TEST_F(sqlite_process_test, a_file_kept_busy_longer_than_ones_patience_is_unavailable_and_nothing_happens_later) {
  client_options options;
  options.patience = 200ms;
  sqlite_client a(folder.file(), real_time(), options);
  raw_database writer(folder.file());
  writer.run("begin immediate");
  const auto got = a.enter(make_claim("n"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind(), errc::unavailable);
  writer.run("commit");
  EXPECT_EQ(claims(), 0);
}

TEST_F(sqlite_process_test, surveys_do_not_wait_for_a_writer) {
  sqlite_client a(folder.file());
  ASSERT_GT(a.take(make_claim("n")), 0U);
  raw_database writer(folder.file());
  writer.run("begin immediate");
  const auto page = a.survey({});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->locks.size(), 1U);
  writer.run("commit");
}

TEST_F(sqlite_process_test, close_returns_promptly_while_the_worker_waits_and_answers_what_was_asked) {
  sqlite_client a(folder.file());
  raw_database writer(folder.file());
  writer.run("begin immediate");
  std::atomic<int> closed{0};
  const auto mine = make_claim("n");
  for (int i = 0; i < 3; ++i)
    a.store->enter(mine, entry::queue, inline_work::never, [&](result<standing> got) {
      if (!got && got.error() == errc::closed) ++closed;
    });
  std::this_thread::sleep_for(20ms);
  const auto start = clock_now::now();
  a.store->close();
  EXPECT_LT(clock_now::now() - start, 500ms);
  EXPECT_EQ(closed.load(), 3);
  bool refused = false;
  a.store->enter(mine, entry::queue, inline_work::if_brief,
                 [&](result<standing> got) { refused = !got && got.error() == errc::closed; });
  EXPECT_TRUE(refused);
  writer.run("commit");
  EXPECT_EQ(claims(), 0);
}

TEST_F(sqlite_process_test, many_processes_make_one_store_of_a_new_file) {
  std::vector<pid_t> all;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      sqlite_client own(folder.file());
      if (own.refused) _exit(1);
      for (int round = 0; round < 20; ++round) {
        const auto mine = make_claim("counter");
        auto got = own.enter(mine);
        if (!got) _exit(2);
        if (got->is == kind::waiting && !own.events.grant_of(mine.secret)) _exit(3);
        int value = 0;
        std::ifstream(folder.file("count")) >> value;
        std::ofstream(folder.file("count")) << value + 1;
        if (*own.leave(mine) != departure::released) _exit(4);
      }
      own.store->close();
      _exit(0);
    }
    all.push_back(child);
  }
  for (const auto child : all) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
  }
  int value = 0;
  std::ifstream(folder.file("count")) >> value;
  EXPECT_EQ(value, 120);
  EXPECT_EQ(claims(), 0);
}

TEST_F(sqlite_process_test, a_long_path_is_reached_through_the_folders_descriptor) {
  std::string deep = folder.path();
  for (int i = 0; i < 6; ++i) deep += "/" + std::string(40, 'd');
  std::filesystem::create_directories(deep);
  sqlite_client a(deep + "/locks.db"), b(deep + "/locks.db");
  ASSERT_FALSE(a.refused) << a.refused->message();
  EXPECT_TRUE(a.store->traits().push) << a.store->traits().caveat;
  const auto first = make_claim("n"), second = make_claim("n");
  ASSERT_GT(a.take(first), 0U);
  ASSERT_EQ(b.enter(second)->is, kind::waiting);
  ASSERT_EQ(*a.leave(first), departure::released);
  EXPECT_TRUE(b.events.grant_of(second.secret));
}

}  // namespace
}  // namespace interlock::test
