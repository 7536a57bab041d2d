// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "mariadb_server.hpp"
#include "typical.hpp"

#include <interlock/client.hpp>

#if INTERLOCK_WITH_MYSQL
#include "raw_mariadb.hpp"
#endif

namespace bench {

#if INTERLOCK_WITH_MYSQL
void mariadb_pair(const settings& with, report& out) {
  if (const auto why = why_no_mariadb(); !why.empty()) return out.skip("mariadb-pair", why);
  const mariadb_server server(with.folder);
  const interlock::client locks(server.url());
  for (int i = 0; i < 200; ++i) static_cast<void>(locks.acquire("warm").release());
  raw_mariadb raw(server.port(), "floor");
  out.add(compare(
              with, [&] { return typical(with.seconds, [&] { raw.acquire(), raw.release(); }); },
              [&] { return typical(with.seconds, [&] { locks.acquire("orders/42").release().value(); }); })
              .against(1.15, {.name = "mariadb-pair",
                              .what = "acquire + release, p50, against the same prepared call sent raw"}));
}

void mariadb_session_pair(const settings& with, report& out) {
  if (const auto why = why_no_mariadb(); !why.empty()) return out.skip("mariadb-session-pair", why);
  const mariadb_server server(with.folder);
  const interlock::client locks(server.url("mode=session"));
  raw_user_lock raw(server.port());
  out.add(compare(
              with, [&] { return typical(with.seconds, [&] { raw.pair(); }); },
              [&] { return typical(with.seconds, [&] { locks.acquire("orders/42").release().value(); }); })
              .against(1.15, {.name = "mariadb-session-pair",
                              .what = "acquire + release, mode=session, p50, against the two prepared statements"}));
}
#else
void mariadb_session_pair(const settings&, report& out) { out.skip("mariadb-session-pair", why_no_mariadb()); }
void mariadb_pair(const settings&, report& out) { out.skip("mariadb-pair", why_no_mariadb()); }
#endif

}  // namespace bench
