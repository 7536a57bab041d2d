// SPDX-License-Identifier: MIT
#include "cli/commands.hpp"
#include "cli/demo.hpp"
#include "cli/exit_code.hpp"
#include "cli/hand_over.hpp"
#include "cli/help.hpp"
#include "cli/own_path.hpp"
#include "cli/store.hpp"
#include "cli/words.hpp"

#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

namespace interlock::cli {
namespace {

// A caller may have closed some of the three. Then our own descriptors must not land there: a message for people would
// end up in the lock file. Close-on-exec, so that the command finds them as the caller left them.
void fill_standard_descriptors() {
  for (int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0; fd = ::open("/dev/null", O_RDWR | O_CLOEXEC))
    if (fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
}

int demo_command() {
  const char* no_color = std::getenv("NO_COLOR");
  const bool color = ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0');
  return run_demo({.color = color, .self = own_path()});
}

int dispatch(const arguments& got) {
  if (got.help) return print(help_for(got.what)), exit_ok;
  switch (got.what) {
    case verb::run:
    case verb::attempt: return run_command(got);
    case verb::ls: return ls_command(got);
    case verb::show: return show_command(got);
    case verb::evict: return break_command(got);
    case verb::doctor: return doctor_command(got);
    case verb::schema: return schema_command(got);
    case verb::demo: return demo_command();
    case verb::version: return version_command(got);
    case verb::help: return help_command(got);
  }
  return exit_usage;
}

int command_line(int argc, char** argv) {
  if (argc >= 2 && std::string_view(argv[1]) == "demo-actor") return run_demo_actor({argv + 2, argv + argc});
  handed_over other(argc, argv);
  const auto got = parse_arguments(argc, argv);
  if (!got) return report(got.error());
  if (argc == 1) {
    say("no verb given\n" + std::string(help_overview()));
    return exit_usage;
  }
  if (auto here = other.leave_if_needed(*got); !here) return report(here.error());
  return dispatch(*got);
}

}  // namespace
}  // namespace interlock::cli

int main(int argc, char** argv) {
  using namespace interlock;
  ::mallopt(M_ARENA_MAX, 1);         // a heap for each thread takes longer to make than the little they do here
  ::mallopt(M_TOP_PAD, 512 * 1024);  // the heap in one piece: what is not touched costs nothing
  cli::fill_standard_descriptors();
  try {
    return cli::command_line(argc, argv);
  } catch (const lock_error& error) {
    return cli::report(error.why());
  } catch (const std::exception& error) {
    cli::say(cli::safe(error.what()));
    return cli::exit_nothing;
  }
}
