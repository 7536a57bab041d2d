// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_POSTGRES

#include "support/pgbouncer.hpp"

#include <pwd.h>
#include <unistd.h>

#include <fstream>

namespace interlock::test_support {

// Like the server itself, it does not run as root.
pgbouncer::pgbouncer(const postgres_server& server, const std::string& mode)
    : process_(geteuid() == 0 ? "setpriv" : "env") {
  const auto& folder = process_.folder();
  const auto file = folder / "pgbouncer.ini";
  std::ofstream(file) << "[databases]\npostgres = host=127.0.0.1 user=postgres port=" << server.port()
                      << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_.number()
                      << "\nunix_socket_dir =\nauth_type = any\npool_mode = " << mode << "\n";
  // auth_type any: everybody comes in, as the user the database entry names.
  std::ofstream(file, std::ios::app) << "ignore_startup_parameters = extra_float_digits\n";
  std::vector<std::string> words;
  if (geteuid() == 0) {
    if (const auto* const who = getpwnam("postgres"); who != nullptr)
      static_cast<void>(chown(file.c_str(), who->pw_uid, who->pw_gid));
    words = {"--reuid", "postgres", "--regid", "postgres", "--clear-groups", "--pdeathsig", "KILL"};
  }
  words.insert(words.end(), {"pgbouncer", file.string()});
  process_.start(std::move(words));
  process_.await("ready", [&] {
    return postgres_peek("host=127.0.0.1 port=" + std::to_string(port_.number()) +
                         " user=postgres dbname=postgres connect_timeout=10")
               .value("select 1") == "1";
  });
}

}  // namespace interlock::test_support

#endif
