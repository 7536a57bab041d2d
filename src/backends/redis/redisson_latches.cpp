// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_latches.hpp"

#include "backends/redis/redisson_latch_write.lua.hpp"
#include "backends/redis/redisson_names.hpp"
#include "core/names.hpp"

#include <charconv>
#include <optional>
#include <utility>

namespace interlock::inline v1::redis_store::redisson {
namespace {

// Never destroyed: a client may still be closing while the program exits.
const script& write_script() {
  static const auto& one = *new script(embedded::redis_redisson_latch_write_lua);
  return one;
}

std::optional<std::int64_t> number(std::string_view text) noexcept {
  std::int64_t out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return {};
  return out;
}

result<cell> read_count(const reply& said) {
  if (said.is() == reply::kind::nil) return cell{};
  const auto count = number(said.text());
  if (!count) return failure(errc::unsupported, "the key is used for something else than a latch");
  if (*count <= 0) return cell{};
  return cell{std::to_string(*count), {static_cast<std::uint64_t>(*count)}};
}

result<version> read_outcome(std::string_view name, std::int64_t answer) {
  if (answer >= 0) return version{static_cast<std::uint64_t>(answer)};
  if (answer == -1)
    return failure(errc::conflict, "somebody has changed " + core::shown_name(name) + " in the meantime");
  return failure(errc::indeterminate, "too much has happened since to tell whether it was done");
}

}  // namespace

const cell_limits& latches::limits() const noexcept {
  static constexpr cell_limits told{.counts_only = true, .push = true, .value_max = 19};
  static constexpr cell_limits polls{.counts_only = true, .push = false, .value_max = 19};
  return channels_.deaf() ? polls : told;
}

void latches::begin() {
  const auto found = way_.facts();
  clustered_ = found.mode == "cluster";
  both_ways_ = clustered_ && found.sharded_pubsub;
}

// The latch's key is the name as it is: it must not be one that belongs to a lock of another name.
result<void> latches::check(std::string_view name) const {
  if (name.starts_with("ilk1:") || name.starts_with("redisson_") || name.find(":rwlock_timeout:") != name.npos)
    return failure(errc::invalid_argument,
                   core::shown_name(name) + " looks like a key that Redisson or interlock keeps beside a lock");
  if (clustered_ && slot_of(name) != slot_of(marks_key(name)))
    return failure(errc::invalid_argument,
                   core::shown_name(name) + " has braces that keep the keys for it apart in a cluster");
  return {};
}

void latches::read(std::string_view name, completion<cell> done) {
  if (auto ok = check(name); !ok) return done(ok.error());
  way_.send(packet({"GET", name}, name), inline_work::never,
            [done = std::move(done)](const result<reply>& said) mutable {
              done(said ? read_count(*said) : result<cell>(said.error()));
            });
}

void latches::write_if(const cell_write& what, completion<version> done) {
  if (auto ok = check(what.name); !ok) return done(ok.error());
  const auto wanted = what.value ? number(*what.value) : std::optional<std::int64_t>(0);
  if (!wanted || *wanted < 0)
    return done(failure(errc::unsupported, "a Redisson latch holds a count, and nothing else"));
  const auto& mark = what.mark.bytes();
  const auto marks = marks_key(what.name);
  packet out(write_script(), {what.name, marks}, 8);
  out.arg(static_cast<std::int64_t>(what.expected.number)).arg(*wanted);
  out.arg(std::string_view(reinterpret_cast<const char*>(mark.data()), mark.size()));
  out.arg(what.again ? "1" : "0").arg(both_ways_ ? "1" : "0").arg(latch_channel(what.name));
  out.arg(static_cast<std::int64_t>(cell_marks)).arg(cell_tomb_time.count());
  way_.send(out, inline_work::never, [name = what.name, done = std::move(done)](const result<reply>& said) mutable {
    done(said ? read_outcome(name, said->number()) : result<version>(said.error()));
  });
}

subscription latches::watch(std::string_view name, std::function<void()> changed) {
  return channels_.watch(latch_channel(name), std::move(changed));
}

}  // namespace interlock::inline v1::redis_store::redisson
