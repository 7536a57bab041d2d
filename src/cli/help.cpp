// SPDX-License-Identifier: MIT
#include "cli/help.hpp"

namespace interlock::cli {
/// By verb.
namespace help_text {
namespace {

constexpr std::string_view overview = R"(interlock: locks that hold across processes and hosts

  interlock run NAME -- COMMAND...       wait for the lock, run the command under it
  interlock try NAME -- COMMAND...       the same, but leave at once (exit 75) when somebody else has it
  interlock ls [PREFIX]                  who holds and who waits
  interlock show NAME                    one lock in detail
  interlock break NAME --handle H        end somebody's claim
  interlock doctor [URL]                 is this store fit for locks, and what can it promise?
  interlock schema STORE                 the tables that a database needs, for its administrator
  interlock demo                         the whole idea in half a minute, no server needed
  interlock version                      version and built-in stores
  interlock help VERB                    each of them, with examples

Which store: --store URL, else $INTERLOCK_STORE, else an SQLite file of your own (this host and user only).

  interlock run nightly -- ./report.sh                       one report at a time on this host
  interlock try nightly -- ./report.sh || [ $? = 75 ]        skip it if it is running already
  interlock run deploy --wait 5m -- make deploy              queue for five minutes at most
  interlock run gpu --permits 1/4 -- ./train.py              at most four at once
  interlock ls                                               see who has what

Exit codes of its own: 64 usage, 69 store unavailable, 75 busy, 76 lock lost, 126 and 127 for the command as in sh.
)";

constexpr std::string_view run = R"(usage: interlock run NAME [OPTION...] -- COMMAND [ARGUMENT...]

Waits for the lock NAME, runs the command while holding it, lets go, and exits as the command did.

  --wait D          queue at most this long, then exit 75 (default: for ever)
  --shared          hold it together with other --shared holders, never beside an exclusive one
  --permits K/N     take K of N permits instead of the whole
  --lease D         how long the store keeps the lock if this host falls silent (default 30s; renewed by itself)
  --max-hold D      stop a hung command after this long
  --lock-delay D    after an unclean end keep the lock shut this much longer
  --purpose TEXT    shown by `interlock ls` and `show` (default: the command's name)
  --status-fd N     write one JSON line per event to descriptor N
  --store URL       which store (default: $INTERLOCK_STORE, else your own SQLite file)
  --quiet           say only what went wrong

Examples:
  interlock run nightly -- ./report.sh
  interlock run deploy --wait 5m -- make deploy
  interlock run catalog --shared -- rsync -a catalog/ backup/
  interlock run gpu --permits 1/4 --lease 10s -- ./train.py
  interlock run db --store sqlite:/var/lib/app/locks.db -- sh -c 'psql -v token="$INTERLOCK_TOKEN" -f load.sql'

The command sees INTERLOCK_NAME, INTERLOCK_TOKEN (rises with every grant: let what you write to refuse lower ones) and
INTERLOCK_SEQUENCER. If the lock is lost, the command gets SIGTERM, then SIGKILL before anybody else can be granted the
lock, even if this program itself was frozen or killed; exit 76. Durations: 250ms, 5s, 2m, 1h.
)";

constexpr std::string_view attempt = R"(usage: interlock try NAME [OPTION...] -- COMMAND [ARGUMENT...]

Runs the command if the lock NAME is free now, else exits 75 at once. Options as for `interlock run`, without --wait.

Examples:
  interlock try nightly -- ./report.sh                         from cron on every host: one of them does it
  interlock try backup --quiet -- ./backup.sh || [ $? = 75 ]   being too late is no error
  interlock try gpu --permits 1/4 -- ./train.py                one of four places, or leave
)";

constexpr std::string_view ls = R"(usage: interlock ls [PREFIX] [--json] [--store URL]

Lists the names that begin with PREFIX and have holders or waiters.

Examples:
  interlock ls
  interlock ls billing/
  interlock ls --json | jq -r '.locks[].name'
  interlock ls --json | jq '.locks[] | select(.waiters != [])'

In JSON tokens are strings: they go up to 2^63, more than a JavaScript number can hold.
)";

constexpr std::string_view show = R"(usage: interlock show NAME [--json] [--store URL]

Who holds the lock NAME and who waits for it, since when, and each one's handle for `interlock break`.

Examples:
  interlock show nightly
  interlock show nightly --json | jq -r '.holders[].id'
  interlock show -- -odd-name
)";

constexpr std::string_view evict = R"(usage: interlock break NAME --handle H [--force] [--json] [--store URL]

Ends exactly one claim on NAME. H is what `interlock show NAME` prints, or at least its first six digits.
Gently, by default: the holder is told to stop, and the lock passes on when its lease is over. With --force it passes on
now, while the old holder may still be working: only a fencing token protects then.

Examples:
  interlock show nightly
  interlock break nightly --handle 3f9a1c
  interlock break nightly --handle 3f9a1c04d2b85e7716a0c3d94be82f51 --force

Exits 1 if that claim was gone already.
)";

constexpr std::string_view doctor = R"(usage: interlock doctor [URL] [--json]

Connects, takes a lock, hands it over, and says what this store can promise and what to change. Exits 0 if it is fit for
locks, 69 if not.

Examples:
  interlock doctor
  interlock doctor sqlite:/var/lib/app/locks.db
  interlock doctor "$INTERLOCK_STORE" --json | jq '.checks[] | select(.verdict != "ok")'
)";

constexpr std::string_view schema = R"(usage: interlock schema STORE

Prints the SQL that makes the tables and functions of a store, for users who are not allowed to create them by
themselves. STORE is its name, or its URL with the names you want. Nothing is connected to; running it again is harmless.

Examples:
  interlock schema postgres | psql -U postgres mydb
  interlock schema mysql://host/shop | mariadb -u root
  interlock schema 'postgres://host/mydb?schema=locks&table=app' >locks.sql
)";

constexpr std::string_view demo = R"(usage: interlock demo

Real processes on a store of their own: updates lost without a lock, none with it, a killed holder replaced, a frozen one
refused by its token, readers together and a writer alone. About 20 seconds; exits 0 only if all of it held.

Examples:
  interlock demo
  interlock demo | cat        a plain transcript
)";

constexpr std::string_view version = R"(usage: interlock version [--json]

Examples:
  interlock version
  interlock version --json | jq -r '.stores[]'
)";

}  // namespace
}  // namespace help_text

std::string_view help_overview() noexcept { return help_text::overview; }

std::string_view help_for(verb which) noexcept {
  constexpr std::string_view texts[verb_count] = {
      help_text::run,    help_text::attempt, help_text::ls,   help_text::show,    help_text::evict,
      help_text::doctor, help_text::schema,  help_text::demo, help_text::version, help_text::overview};
  return texts[static_cast<std::size_t>(which)];
}

}  // namespace interlock::cli
