// SPDX-License-Identifier: MIT
#pragma once

#include "backends/sql/errand.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace interlock::inline v1::sql {

/// A session of a database's own client library, ready for questions, with one message under way at a time. Waits only
/// where it is asked to. One thread at a time.
class session {
 public:
  virtual ~session() = default;

  [[nodiscard]] virtual int socket() const noexcept = 0;
  /// Whatever it cannot send now is sent by flush(). false: the session is broken.
  [[nodiscard]] virtual bool send(const flight& what) = 0;
  /// Whether more is left, to be sent when the socket has room.
  [[nodiscard]] virtual bool flush() noexcept = 0;

  /// The last message was answered before send() or flush() returned: nothing more will arrive for it.
  [[nodiscard]] virtual bool answered() const noexcept { return false; }
  /// Whether receive() can wait.
  [[nodiscard]] virtual bool is_patient() const noexcept { return false; }

  enum class progress { waits, over /* answered or refused, and committed */, broken };
  enum class patience : std::uint8_t { none, some /* milliseconds, until something arrives */ };
  /// What has arrived. `under_way`: the message that waits for its answer, if there is one. `news`: what the server
  /// says without being asked.
  [[nodiscard]] virtual progress receive(flight* under_way, std::vector<std::string>& news,
                                         patience with = patience::none) = 0;

  /// Why it is broken; empty: nothing was said.
  [[nodiscard]] virtual std::string last_words() const = 0;
};

}  // namespace interlock::inline v1::sql
