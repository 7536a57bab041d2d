// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "machine.hpp"
#include "processes.hpp"

#include <interlock/client.hpp>

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

#if INTERLOCK_WITH_SQLITE
#include "raw_sqlite.hpp"
#endif

namespace bench {

#if INTERLOCK_WITH_SQLITE
namespace {

/// Two connected datagram sockets, one for each process.
struct socket_pair {
  std::array<int, 2> ends{};
  socket_pair() {
    if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  socket_pair(const socket_pair&) = delete;
  socket_pair& operator=(const socket_pair&) = delete;
  ~socket_pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
};

/// The median time from one turn of a process to its next, which is two hand-offs. Not the mean: now and then SQLite
/// folds its log into the file and waits for the disk, and how long that takes is the disk's figure.
class round_trips {
 public:
  void my_turn() {
    const double at = now();
    if (last_ != 0) each_.push_back(at - last_);
    last_ = at;
  }
  /// Mine again, without a hand-off in between: begin anew.
  void nobody_elses_turn() { last_ = 0; }
  [[nodiscard]] double handoff() { return median(std::move(each_)) / 2; }

 private:
  double last_ = 0;
  std::vector<double> each_;
};

/// The same work in the same order as a release and a new wait: remove my row, wake the other, insert my row, sleep.
void pass_on_by_hand(const std::string& file, int socket, int me, round_trips& turns, shared_facts& facts) {
  raw_locks rows(file, raw_locks::rows::one_per_owner);
  const auto mine = static_cast<std::uint64_t>(me);
  rows.insert(one_name, mine, 0);
  facts.ready.fetch_add(1);
  std::array<char, 64> message{};
  for (std::int64_t token = 1; !facts.over.load(std::memory_order_relaxed); ++token) {
    if (me == 1 || token > 1)  // process 0 begins
      if (::recv(socket, message.data(), message.size(), 0) < 0)
        throw std::system_error(errno, std::generic_category(), "recv");
    turns.my_turn();
    rows.remove(one_name, mine);
    // Fails if the other one has ended; then it is over.
    if (::send(socket, message.data(), message.size(), MSG_NOSIGNAL) < 0) return;
    rows.insert(one_name, mine, token);
  }
  if (::send(socket, message.data(), message.size(), MSG_NOSIGNAL) < 0) return;
}

double typical_handoff(processes& both, double seconds) {
  both.wait_until_ready();
  sleep_for(seconds);
  both.finish();
  const double typical = both.facts().typical;
  if (typical == 0) throw std::runtime_error("no hand-off was seen");
  return typical;
}

double floor_of(const std::string& file, double seconds) {
  const socket_pair link;
  { const raw_locks made(file, raw_locks::rows::one_per_owner); }  // makes the tables
  processes both;
  for (int me = 0; me < 2; ++me)
    both.start([&, me](shared_facts& facts) {
      ::close(link.ends[static_cast<std::size_t>(1 - me)]);
      round_trips turns;
      pass_on_by_hand(file, link.ends[static_cast<std::size_t>(me)], me, turns, facts);
      if (me == 0) facts.typical = turns.handoff();
    });
  return typical_handoff(both, seconds);
}

/// Lets go once the other one asks, as in thread_handoff.cpp.
void pass_on(const std::string& url, int me, shared_facts& facts) {
  const interlock::client locks(url);
  auto& asking = facts.asking[static_cast<std::size_t>(me)];
  const auto& other_asks = facts.asking[static_cast<std::size_t>(1 - me)];
  round_trips turns;
  facts.ready.fetch_add(1);
  while (!facts.over.load(std::memory_order_relaxed)) {
    asking.store(true, std::memory_order_relaxed);
    const auto held = locks.acquire(one_name);
    asking.store(false, std::memory_order_relaxed);
    facts.grants.fetch_add(1, std::memory_order_relaxed);
    if (facts.last.exchange(me, std::memory_order_relaxed) == me) {
      turns.nobody_elses_turn();
      sched_yield();
    } else {
      facts.count.fetch_add(1, std::memory_order_relaxed);
      turns.my_turn();
    }
    while (!other_asks.load(std::memory_order_relaxed) && !facts.over.load(std::memory_order_relaxed)) sched_yield();
  }
  if (me == 0) facts.typical = turns.handoff();
}

double candidate_of(const std::string& url, double seconds, double& repeats) {
  processes both;
  for (int me = 0; me < 2; ++me) both.start([&, me](shared_facts& facts) { pass_on(url, me, facts); });
  const double typical = typical_handoff(both, seconds);
  repeats = double(both.facts().grants) / double(both.facts().count) - 1;
  return typical;
}

}  // namespace

void process_handoff(const settings& with, report& out) {
  const scratch_folder folder(with.folder);
  int turn = 0;
  double repeats = 0;
  // A fresh file each time: the rows of the one before would be in the way.
  const measure floor = [&] { return floor_of(folder.file("raw" + std::to_string(++turn) + ".db"), with.seconds); };
  const measure candidate = [&] { return candidate_of("sqlite:" + folder.file("locks.db"), with.seconds, repeats); };
  auto row =
      compare(with, floor, candidate)
          .against(
              1.6,
              {.name = "process-handoff",
               .what = "one hand-off between two processes on sqlite:, against a datagram, a delete and an insert"});
  row.note += "; " + show_number(100 * repeats) + " % of grants stayed with their process";
  out.add(std::move(row));
}
#else
void process_handoff(const settings&, report& out) { out.skip("process-handoff", no_sqlite); }
#endif

}  // namespace bench
