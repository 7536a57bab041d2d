// SPDX-License-Identifier: MIT
#include "backends/redis/plain_layout.hpp"
#include "core/claim_book.hpp"
#include "core/names.hpp"

#include <algorithm>
#include <utility>

/// Listing and evicting: for people, and therefore in several steps.
namespace interlock::inline v1::redis_store {
namespace {

constexpr int types_in_scan = 60000;  // the version that can leave out other types
constexpr std::string_view scan_count = "1000";

lock_info info_of(std::string_view name, plain_sight seen, bool tokens) {
  lock_info out;
  out.name = name;
  if (seen.type != "none") {
    // Whoever holds it and is not in the companion is not ours, unless ours do not write anything there.
    if (seen.type != "string")
      seen.holder.program = "not a plain lock: a " + seen.type;
    else if (!seen.ours && (tokens || !secret_of(seen.value)))
      seen.holder.program = "another library";
    out.holders.push_back(std::move(seen.holder));
  }
  for (auto& [value, one] : seen.waiters) out.waiters.push_back(std::move(one));
  return out;
}

bool in_use(const lock_info& lock) noexcept { return !lock.holders.empty() || !lock.waiters.empty(); }

}  // namespace

/// A survey under way: first the names, from every master, then what there is about each on the page.
struct plain_layout::listing {
  survey_query what;
  completion<survey_page> done;
  std::string pattern;
  std::size_t masters = 0, master = 0;
  std::string cursor = "0";
  std::vector<std::string> names;

  std::mutex mutex;  // of what follows: answers come on several threads
  survey_page page;
  std::size_t under_way = 0;
  std::optional<failure> wrong;
};

void plain_layout::show(std::string_view name, unique_function<void(result<plain_sight>)> then) {
  const auto key = wish_.key.key(name);
  way_.send(packet(scripts_.show, {key, beside(key, companion_letter)}, 0), inline_work::never,
            [then = std::move(then)](result<reply> got) mutable {
              if (!got) return then(got.error());
              then(read_sight(*got));
            });
}

void plain_layout::survey(survey_query what, completion<survey_page> done) {
  if (!what.exact) {
    auto job = std::make_shared<listing>();
    job->pattern = wish_.key.pattern(what.prefix);
    job->what = std::move(what);
    job->done = std::move(done);
    job->masters = way_.masters();
    return scan(std::move(job));
  }
  auto name = what.prefix;
  show(name, [name, tokens = wish_.tokens, done = std::move(done)](result<plain_sight> got) mutable {
    if (!got) return done(got.error());
    survey_page page;
    page.locks.push_back(info_of(name, std::move(*got), tokens));
    if (!in_use(page.locks.front())) page.locks.clear();
    done(std::move(page));
  });
}

void plain_layout::scan(std::shared_ptr<listing> job) {
  if (job->master == job->masters) return scanned(job);
  const auto answer = [this, job](const result<reply>& got) {
    if (!got) return job->done(got.error());
    job->cursor = (*got)[0].text();
    for (const auto each : (*got)[1]) {
      const auto name = wish_.key.name(each.text());
      if (!name || each.text().starts_with(own_keys) || *name <= job->what.after) continue;
      if (name->starts_with(job->what.prefix) && core::check_name(*name, store_traits{}.name_max))
        job->names.emplace_back(*name);
    }
    if (job->cursor == "0") ++job->master;
    scan(job);
  };
  if (way_.facts().version_number >= types_in_scan)
    way_.send_to(job->master,
                 packet({"SCAN", job->cursor, "MATCH", job->pattern, "COUNT", scan_count, "TYPE", "string"}), answer);
  else
    way_.send_to(job->master, packet({"SCAN", job->cursor, "MATCH", job->pattern, "COUNT", scan_count}), answer);
}

void plain_layout::scanned(const std::shared_ptr<listing>& job) {
  auto& names = job->names;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  job->page.more = names.size() > job->what.most;
  names.resize(std::min(names.size(), job->what.most));
  if (names.empty()) return job->done(std::move(job->page));
  job->page.locks.resize(names.size());
  job->under_way = names.size();
  for (std::size_t i = 0; i < names.size(); ++i)
    show(names[i], [this, job, i](result<plain_sight> got) {
      {
        const std::lock_guard lock(job->mutex);
        if (got)
          job->page.locks[i] = info_of(job->names[i], std::move(*got), wish_.tokens);
        else
          job->wrong = got.error();
        if (--job->under_way > 0) return;
      }
      if (job->wrong) return job->done(*job->wrong);
      std::erase_if(job->page.locks, [](const lock_info& one) { return !in_use(one); });
      job->done(std::move(job->page));
    });
}

void plain_layout::evict(std::string_view name, const claim_id& who, bool force, completion<bool> done) {
  show(name, [this, name = std::string(name), who, force, done = std::move(done)](result<plain_sight> got) mutable {
    if (!got) return done(got.error());
    evict_seen(std::move(name), *got, who, force, std::move(done));
  });
}

void plain_layout::evict_seen(std::string name, const plain_sight& seen, const claim_id& who, bool force,
                              completion<bool> done) {
  std::string value;
  if (seen.type == "string" && seen.holder.id == who) value = seen.value;
  for (const auto& [each, one] : seen.waiters)
    if (one.id == who) value = each;
  if (value.empty()) return done(false);
  const auto key = wish_.key.key(name), companion = beside(key, companion_letter);
  const auto signal = wish_.signal ? wish_.signal->key(name) : std::string{};
  constexpr std::size_t arguments = 7;
  packet out = wish_.signal ? packet(scripts_.evict, {key, companion, signal}, arguments)
                            : packet(scripts_.evict, {key, companion}, arguments);
  out.arg(value).arg(force ? "force" : "mark").arg(wish_.tokens ? "known" : "any").arg(core::tomb_time.count());
  out.arg(companion_life(milliseconds{0}).count()).arg(publish_).arg(beside(key, channel_letter));
  way_.send(out, inline_work::never,
            [this, name = std::move(name), value, done = std::move(done)](result<reply> got) mutable {
              if (!got) return done(got.error());
              if (got->number() == 2)
                return done(failure(errc::unsupported,
                                    "the holder of \"" + name +
                                        "\" does not use interlock and cannot be told to stop; it can only be evicted "
                                        "by force, and will not know it"));
              if (got->number() == 1 && secret_of(value))
                way_.send(packet({"PUBLISH", evictions, value}), inline_work::never, [](const result<reply>&) {});
              done(got->number() == 1);
            });
}

}  // namespace interlock::inline v1::redis_store
