// SPDX-License-Identifier: MIT
#include "backends/sqlite/sqlite_store.hpp"

#include "backends/sqlite/store.hpp"
#include "core/origin.hpp"
#include "core/registry.hpp"

#include <sqlite3.h>

#include <atomic>
#include <utility>

namespace interlock::inline v1::sqlite_store {
namespace {

std::atomic<bool> short_life_expected{false};

struct wishes {
  durability wish = durability::normal;
  milliseconds patience{5000};
};

result<wishes> read_wishes(const backend_environment& environment) {
  if (auto known = core::check_options(environment.url, {"synchronous"}); !known) return known.error();
  wishes out;
  const auto& options = environment.url.options;
  if (const auto found = options.find("synchronous"); found != options.end()) {
    if (found->second != "normal" && found->second != "full")
      return failure(errc::invalid_argument, "store URL: synchronous is normal or full, not \"" + found->second + '"');
    if (found->second == "full") out.wish = durability::full;
  }
  if (const auto found = options.find("patience"); found != options.end()) {
    const auto asked = parse_duration(found->second);
    if (!asked) return asked.error();
    out.patience = *asked;
  }
  out.patience = environment.options.patience.value_or(out.patience);
  return out;
}

store_traits traits_of_sqlite() {
  store_traits out;
  out.guarantee = guarantee::strict;
  out.convert = out.fifo = out.permits = out.push = out.shared = out.survey = out.tokens = true;
  out.cells = out.latches = true;
  out.store = "sqlite";
  out.layout = "book";
  out.lease_min = milliseconds{10};
  out.lease_max = std::chrono::hours{24 * 30};
  return out;
}

}  // namespace

void expect_short_life() noexcept {
  short_life_expected.store(true);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);        // statistics: a mutex for each allocation, and nobody reads them
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 256, 64);  // small blocks: its own choice is three times as much to touch
}

result<std::unique_ptr<backend>> open_sqlite(const backend_environment& environment) {
  const auto wish = read_wishes(environment);
  if (!wish) return wish.error();
  auto file = find_store_file(environment.url);
  if (!file) return file.error();

  auto traits = traits_of_sqlite();
  std::unique_ptr<wake_channel> channel;
  auto opened = wake_channel::open(*file);
  if (opened && !short_life_expected.load())
    if (auto good = (*opened)->listen(); !good) opened = good.error();
  if (opened) {
    channel = std::move(*opened);
  } else {
    traits.push = false;
    traits.caveat = "waiters poll, because " + opened.error().message();
  }

  const auto path = file->path;
  auto books = ledger::open(std::move(*file), {.time = &environment.time,
                                               .wish = wish->wish,
                                               .patience = wish->patience,
                                               .channel = channel ? channel->id() : 0,
                                               .origin = core::own_origin(environment.options.purpose)});
  if (!books) return books.error();
  return std::unique_ptr<backend>(std::make_unique<store>(environment, std::move(*books), std::move(channel),
                                                          std::move(traits), wish->patience, path));
}

}  // namespace interlock::inline v1::sqlite_store
