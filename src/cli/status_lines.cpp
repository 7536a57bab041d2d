// SPDX-License-Identifier: MIT
#include "cli/status_lines.hpp"

#include "cli/json.hpp"
#include "cli/words.hpp"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace interlock::cli {
namespace {

json_writer event(std::string_view kind) {
  json_writer line;
  line.begin_object().key("event").text(kind);
  return line;
}

}  // namespace

status_lines::status_lines(std::optional<int> fd) : fd_(fd.value_or(-1)) {
  if (fd_ > STDERR_FILENO) ::fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

void status_lines::waiting(std::string_view name) { write(event("waiting").key("name").text(name)); }

void status_lines::acquired(std::string_view name, const std::optional<fencing_token>& token) {
  auto line = event("acquired");
  line.key("name").text(name).key("token");
  token ? line.text(to_string(*token)) : line.null();
  write(line);
}

void status_lines::refused(errc kind, std::string_view why) { write(event(to_string(kind)).key("why").text(why)); }
void status_lines::lost(std::string_view reason) { write(event("lost").key("reason").text(reason)); }
void status_lines::exited(int status) { write(event("child").key("exit").number(status)); }
void status_lines::killed(int signal) { write(event("child").key("signal").number(signal)); }
void status_lines::released() { write(event("released")); }
void status_lines::release_failed(std::string_view why) { write(event("release_failed").key("why").text(why)); }

void status_lines::write(const json_writer& line) {
  if (fd_ < 0) return;
  auto text = line.str() + "}\n";
  // One write: short lines to a pipe stay whole.
  if (::write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return;
  say("cannot write to --status-fd " + std::to_string(fd_) + ": " + std::generic_category().message(errno));
  fd_ = -1;
}

}  // namespace interlock::cli
