// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_survey.hpp"

#include "backends/redis/redisson_record.hpp"
#include "backends/redis/redisson_scripts.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace interlock::inline v1::redis_store::redisson {

namespace {

constexpr std::string_view write_mark = ":write";
constexpr double never = 922337203685477;  // a permit's end: it has none
constexpr auto for_ever = milliseconds::max();

double number_in(std::string_view text) noexcept {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

/// What the script found, taken apart.
struct findings {
  explicit findings(const reply& from)
      : now(number_in(from[0].text())),
        kind(from[1].text()),
        left(from[2].number()),
        content(from[3]),
        leases(from[4]),
        permits(from[5]),
        line(from[7]),
        queue(from[8]),
        deadlines(from[9]) {
    for (auto at = from[6].begin(); at != from[6].end(); ++at) {
      const auto owner = (*at).text();
      if (++at == from[6].end()) break;
      if (auto known = parse_record((*at).text())) book.emplace(owner, std::move(*known));
    }
  }
  double now;
  std::string_view kind;
  std::int64_t left;  // of the lock's key, ms
  reply content, leases, permits, line, queue, deadlines;
  std::map<std::string_view, record> book;
};

seen_claim claim_of(const findings& all, std::string_view owner, claim_id id, milliseconds left) {
  seen_claim out;
  out.owner = owner;
  out.info.id = id;
  out.info.lease_left = left;
  const auto known = all.book.find(owner);
  if (known == all.book.end()) return out;
  const auto& is = known->second;
  out.client = is.client;
  out.info.mode = is.mode;
  out.info.permits = is.weight;
  if (is.token != 0) {
    out.info.token = fencing_token(is.token);
    out.info.tokens = is.tokens;
  }
  out.info.host = is.origin.host;
  out.info.program = is.origin.program;
  out.info.purpose = is.origin.purpose;
  out.info.pid = is.origin.pid;
  out.info.age = milliseconds{std::max<std::int64_t>(static_cast<std::int64_t>(all.now) - is.since, 0)};
  return out;
}

// Member -> score, of those that are not over.
std::map<std::string_view, double> scores(const reply& from, double now) {
  std::map<std::string_view, double> out;
  for (auto at = from.begin(); at != from.end(); ++at) {
    const auto member = (*at).text();
    if (++at == from.end()) break;
    if (const auto score = number_in((*at).text()); score >= now) out.emplace(member, score);
  }
  return out;
}

milliseconds key_left(const findings& all) noexcept { return all.left < 0 ? for_ever : milliseconds{all.left}; }

void read_lock(const findings& all, std::vector<seen_claim>& out) {
  const auto fields = all.content.size() / 2;
  bool rw = false;
  for (std::size_t i = 0; i < fields; ++i) rw = rw || all.content[2 * i].text() == "mode";
  const auto what = rw ? object::rw : all.queue.size() > 0 ? object::fair : object::lock;
  for (std::size_t i = 0; i < fields; ++i) {
    auto owner = all.content[2 * i].text();
    if (owner == "mode") continue;
    const bool writes = owner.ends_with(write_mark);
    if (writes) owner.remove_suffix(write_mark.size());
    const bool reads = rw && !writes;
    const auto left = all.leases[i].number();
    if (reads && left <= 0) continue;  // ran out; Redisson sweeps it up when the next one leaves
    auto one = claim_of(all, owner, id_of(owner), reads ? milliseconds{left} : key_left(all));
    one.info.mode = reads ? lock_mode::shared : lock_mode::exclusive;
    one.what = what;
    out.push_back(std::move(one));
  }
}

// A claim's permits are counted up from its own sixteen bytes, and only the first of them is in the book.
void read_permits(const findings& all, std::vector<seen_claim>& out) {
  auto members = scores(all.permits, all.now);
  const auto add = [&](std::string_view permit, double ends) {
    const auto left = ends >= never ? for_ever : milliseconds{static_cast<std::int64_t>(ends - all.now)};
    auto one = claim_of(all, permit, public_id(secret_of_permit(permit)), left);
    one.what = object::semaphore;
    out.push_back(std::move(one));
  };
  for (const auto& [owner, is] : all.book) {
    const auto found = members.find(owner);
    if (found == members.end()) continue;
    add(found->first, found->second);
    for (std::uint32_t i = 0; i < is.weight; ++i) members.erase(nth_permit(owner, i));
  }
  for (const auto& [permit, ends] : members) add(permit, ends);
}

// In the order of the fair lock's queue, as far as there is one; a waiter of ours whose lease is over is none.
void read_waiters(const findings& all, std::vector<seen_claim>& out) {
  auto ends = scores(all.line, all.now);
  const auto deadlines = scores(all.deadlines, all.now);
  std::vector<seen_claim> found;
  for (const auto one : all.queue) {
    const auto owner = one.text();
    const auto& known = all.book.contains(owner) ? ends : deadlines;
    const auto mine = known.find(owner);
    if (mine == known.end()) continue;
    const milliseconds left{static_cast<std::int64_t>(mine->second - all.now)};
    found.push_back(claim_of(all, owner, id_of(owner), left));
    found.back().what = object::fair;
    ends.erase(owner);
  }
  const auto in_queue = found.size();
  for (const auto& [owner, end] : ends) {
    const bool permit = owner.size() == sizeof(claim_secret);
    const auto id = permit ? public_id(secret_of_permit(owner)) : id_of(owner);
    found.push_back(claim_of(all, owner, id, milliseconds{static_cast<std::int64_t>(end - all.now)}));
    found.back().what = permit ? object::semaphore : object::lock;
  }
  std::stable_sort(found.begin() + static_cast<std::ptrdiff_t>(in_queue), found.end(),
                   [](const seen_claim& a, const seen_claim& b) { return a.info.age > b.info.age; });
  for (auto& one : found) {
    one.waits = true;
    one.info.token.reset();
    out.push_back(std::move(one));
  }
}

}  // namespace

void ask_about(courier& way, std::string_view name, reply_handler done) {
  packet out(survey_script(),
             {name, book_key(name), line_key(name), queue_key(name), permits_key(name), deadlines_key(name)}, 3);
  out.arg("0").arg("none").arg("0");
  way.send(out, inline_work::never, std::move(done));
}

seen_name read_about(std::string_view name, const reply& from) {
  const findings all(from);
  seen_name out;
  out.info.name = name;
  if (all.kind == "hash") read_lock(all, out.claims);
  if (all.kind == "string") {
    read_permits(all, out.claims);
    const auto free = static_cast<std::uint32_t>(std::max(number_in(all.content[0].text()), 0.0));
    out.info.limit = free + static_cast<std::uint32_t>(all.permits.size() / 2);
  }
  read_waiters(all, out.claims);
  for (const auto& one : out.claims) (one.waits ? out.info.waiters : out.info.holders).push_back(one.info);
  return out;
}

}  // namespace interlock::inline v1::redis_store::redisson
