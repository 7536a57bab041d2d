// SPDX-License-Identifier: MIT
#include "engine/thread.hpp"

#include <pthread.h>
#include <signal.h>

namespace interlock::inline v1::runtime {
namespace {

struct fork_counter {
  fork_counter() {
    ::pthread_atfork(nullptr, nullptr, [] { forks_so_far.fetch_add(1, std::memory_order_relaxed); });
  }
};
const fork_counter counting;

thread_local bool library_thread = false;

}  // namespace

bool on_library_thread() noexcept { return library_thread; }

std::thread start_thread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the new thread from its first instruction
  struct restore {
    sigset_t* mask;
    ~restore() { ::pthread_sigmask(SIG_SETMASK, mask, nullptr); }
  } const later{&before};
  return std::thread([name, body = std::move(body)] {
    ::pthread_setname_np(::pthread_self(), name);
    library_thread = true;
    body();
  });
}

}  // namespace interlock::inline v1::runtime
