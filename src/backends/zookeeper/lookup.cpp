// SPDX-License-Identifier: MIT
#include "backends/zookeeper/lookup.hpp"

#include "engine/thread.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <mutex>
#include <thread>
#include <utility>

namespace interlock::inline v1::zookeeper_store {
namespace {

bool is_address(const std::string& host) {
  unsigned char room[16];
  return inet_pton(AF_INET, host.c_str(), room) == 1 || inet_pton(AF_INET6, host.c_str(), room) == 1;
}

// Blocks.
result<std::vector<std::string>> ask_system(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (const int wrong = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found); wrong != 0)
    return failure(errc::unavailable, "the host name " + host + " could not be looked up: " + gai_strerror(wrong));
  std::vector<std::string> out;
  for (auto* one = found; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST];
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      out.emplace_back(text);
  }
  ::freeaddrinfo(found);
  return out;
}

}  // namespace

/// Outlives whoever sent it: the resolver cannot be interrupted.
struct name_lookup::errand {
  std::mutex mutex;
  reactor* loop = nullptr;  // unset: nobody waits any more
  unique_function<void(result<std::vector<std::string>>)> done;
};

void name_lookup::start(const std::string& host, reactor& loop,
                        unique_function<void(result<std::vector<std::string>>)> done) {
  errand_ = std::make_shared<errand>();
  errand_->loop = &loop;
  errand_->done = std::move(done);
  const auto deliver = [](const std::shared_ptr<errand>& to, result<std::vector<std::string>> found) {
    const std::lock_guard lock(to->mutex);
    if (to->loop == nullptr) return;
    to->loop->post([to, found = std::make_unique<result<std::vector<std::string>>>(std::move(found))] {
      unique_function<void(result<std::vector<std::string>>)> call;
      {
        const std::lock_guard again(to->mutex);
        if (to->loop == nullptr) return;
        call = std::move(to->done);
        to->loop = nullptr;
      }
      call(std::move(*found));
    });
  };
  if (is_address(host)) return deliver(errand_, std::vector<std::string>{host});
  runtime::start_thread("interlock-names", [to = errand_, host, deliver] { deliver(to, ask_system(host)); }).detach();
}

void name_lookup::cancel() noexcept {
  if (!errand_) return;
  const std::lock_guard lock(errand_->mutex);
  errand_->loop = nullptr;
  errand_->done = {};
}

}  // namespace interlock::inline v1::zookeeper_store
