// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace interlock::inline v1::runtime {

/// Starts a thread of the library: all signals blocked, so that the program's handlers never run on it.
std::thread start_thread(const char* name, std::function<void()> body);
/// This is such a thread: whoever wants to wait for all of them to end must do that elsewhere.
bool on_library_thread() noexcept;

/// Counted where threads are started.
inline constinit std::atomic<unsigned> forks_so_far{0};
/// How often this process has come out of a fork. What was made before the last one belongs to the parent.
inline unsigned fork_generation() noexcept { return forks_so_far.load(std::memory_order_relaxed); }

}  // namespace interlock::inline v1::runtime
