// SPDX-License-Identifier: MIT
#include "engine/notifier.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>

namespace interlock::runtime {
namespace {

TEST(notifier, calls_back_in_the_order_of_posting_whichever_thread_posts) {
  notifier calls({});
  std::string order;  // written by callbacks alone
  std::promise<void> from_outside, over;
  calls.post([&] {
    order += 'a';
    calls.post([&] { order += 'b'; });
    std::thread([&] {  // while the first one is running, behind 'b'
      calls.post([&] {
        order += 'c';
        calls.post([&] { order += 'f'; });
      });
      from_outside.set_value();
    })
        .join();
    calls.post([&] { order += 'd'; });
    calls.post([&] {
      order += 'e';
      calls.post([&] { over.set_value(); });
    });
  });
  from_outside.get_future().wait();
  over.get_future().wait();
  EXPECT_EQ(order, "abcdef");
}

TEST(notifier, a_callback_that_always_posts_another_does_not_keep_others_waiting) {
  notifier calls({});
  std::atomic<bool> over{false};
  std::function<void()> forever = [&] {
    if (!over) calls.post([&] { forever(); });
  };
  calls.post([&] { forever(); });
  std::promise<void> called;
  calls.post([&] { called.set_value(); });
  EXPECT_EQ(called.get_future().wait_for(std::chrono::seconds{30}), std::future_status::ready);
  over = true;
  calls.drain();
}

TEST(notifier, drain_waits_for_what_callbacks_and_the_pastime_posted) {
  std::atomic<int> done{0}, rounds{0};
  notifier* self = nullptr;
  notifier calls({}, [&](parker&, std::uint32_t) {
    if (++rounds > 3) return false;
    self->post([&] { ++done; });
    return true;
  });
  self = &calls;
  calls.post([&] { calls.post([&] { ++done; }); });
  calls.drain();
  EXPECT_EQ(done, 4);
}

TEST(notifier, stop_runs_what_was_posted_before) {
  int done = 0;
  {
    notifier calls({});
    for (int i = 0; i < 100; ++i)
      calls.post([&] {
        ++done;
        calls.post([&] { ++done; });
      });
  }
  EXPECT_EQ(done, 200);
}

}  // namespace
}  // namespace interlock::runtime
