// SPDX-License-Identifier: MIT
#pragma once

#include "backends/redis/connection.hpp"
#include "core/quorum_machine.hpp"

#include <interlock/backend.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

namespace interlock::inline v1::quorum_store {

class quorum;

/// The ways to all nodes, lent together to a caller that waits for their answers on its own thread: what it reads from
/// one node often makes something to be sent to all of them, and then goes out in one piece to each. See backend.
class lending {
 public:
  explicit lending(const quorum& of) noexcept : quorum_(of) {}
  lending(const lending&) = delete;
  lending& operator=(const lending&) = delete;
  ~lending();

  [[nodiscard]] int borrow() noexcept;
  [[nodiscard]] bool read() noexcept;
  [[nodiscard]] backend::arrival await() noexcept;
  void give_back(backend::loan_end as) noexcept;
  /// How to send what an answer leads to: this thread may be about to read more of them.
  [[nodiscard]] inline_work here() const noexcept;

 private:
  bool add(unsigned node) noexcept;
  [[nodiscard]] bool worth_waiting() const noexcept;
  bool read_ready(int most_milliseconds) noexcept;
  void end(unsigned node, backend::loan_end as) noexcept;

  const quorum& quorum_;
  std::atomic<bool> is_lent_{false};
  std::atomic<std::thread::id> reader_{};
  int watch_ = -1;  // an epoll instance with the nodes' sockets
  // Kept from one loan to the next, and with them the sockets, so that no number stands for another socket meanwhile.
  std::array<std::shared_ptr<redis_store::connection>, core::most_nodes> watched_;
  core::node_set lent_{};
};

}  // namespace interlock::inline v1::quorum_store
