// SPDX-License-Identifier: MIT
#pragma once

#include "backends/mysql/handle.hpp"
#include "backends/mysql/settings.hpp"

#include <interlock/backend.hpp>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace interlock::inline v1::mysql_store {

/// Rows of text; NULL is empty.
using text_rows = std::vector<std::vector<std::string>>;
/// Of a result that has been read whole.
text_rows read_rows(MYSQL_RES* from);

/// Statements one after another, each waited for: what is needed before a connection can be shared. Ends early when it
/// is cancelled or its time is over.
class talk {
 public:
  talk(MYSQL* with, instant until, const std::atomic<bool>& cancelled)
      : with_(with), until_(until), cancelled_(cancelled) {}

  /// host: empty for the socket.
  result<void> connect(const mysql_settings& settings, const std::pair<std::string, std::uint16_t>& host);
  /// One statement.
  result<text_rows> say(const std::string& text);
  result<my_statement> prepare(const std::string& text);
  /// Of the last error; 0: there was none, or it was ours.
  [[nodiscard]] unsigned number() const noexcept { return number_; }

 private:
  template <class Start, class Continue>
  result<void> run(Start start, Continue go_on);
  result<int> await(int what);
  [[nodiscard]] failure wrong(unsigned number, const char* text);

  MYSQL* with_;
  instant until_;
  const std::atomic<bool>& cancelled_;
  unsigned number_ = 0;
};

}  // namespace interlock::inline v1::mysql_store
