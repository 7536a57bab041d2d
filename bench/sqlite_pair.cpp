// SPDX-License-Identifier: MIT
#include "cases.hpp"
#include "compare.hpp"
#include "machine.hpp"
#include "typical.hpp"

#include <interlock/client.hpp>

#if INTERLOCK_WITH_SQLITE
#include "raw_sqlite.hpp"
#include "recorded_pair.hpp"
#endif

namespace bench {

#if INTERLOCK_WITH_SQLITE
namespace {}  // namespace

void sqlite_pair(const settings& with, report& out) {
  const scratch_folder folder(with.folder);
  raw_locks raw(folder.file("raw.db"), raw_locks::rows::one_per_name);
  recorded_pair recorded(folder.file("recorded.db"));
  const interlock::client locks("sqlite:" + folder.file("locks.db"));

  std::uint64_t turn = 0;
  const measure two_statements = [&] {
    return typical(with.seconds, [&] {
      ++turn;
      raw.insert(one_name, turn, static_cast<std::int64_t>(turn));
      raw.remove(one_name, turn);
    });
  };
  const measure candidate = [&] { return typical(with.seconds, [&] { const auto held = locks.acquire(one_name); }); };
  const measure same_statements = [&] { return typical(with.seconds, [&] { recorded.play(); }); };

  out.add(compare(with, two_statements, candidate)
              .against(1.3, {.name = "sqlite-pair", .what = "acquire + release, p50, against an insert and a delete"}));
  out.add(compare(with, same_statements, candidate)
              .against(0, {.name = "sqlite-pair/own",
                           .what = "acquire + release, p50, against the very statements the store runs",
                           .note = std::to_string(recorded.length()) + " statements"}));
}
#else
void sqlite_pair(const settings&, report& out) { out.skip("sqlite-pair", no_sqlite); }
#endif

}  // namespace bench
