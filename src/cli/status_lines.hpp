// SPDX-License-Identifier: MIT
#pragma once

#include <interlock/info.hpp>
#include <interlock/token.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace interlock::cli {

class json_writer;

/// What --status-fd carries: one JSON object per line, for callers that must tell the command's exit status from ours.
class status_lines {
 public:
  /// Keeps the command from inheriting `fd`, unless it is one of the standard three.
  explicit status_lines(std::optional<int> fd);

  void waiting(std::string_view name);
  void acquired(std::string_view name, const std::optional<fencing_token>& token);
  /// Ended without a grant: the event is the code's own name, "busy" or "unavailable" or ...
  void refused(errc kind, std::string_view why);
  void lost(std::string_view reason);
  void exited(int status);
  void killed(int signal);
  void released();
  void release_failed(std::string_view why);

 private:
  void write(const json_writer& line);
  int fd_;
};

}  // namespace interlock::cli
