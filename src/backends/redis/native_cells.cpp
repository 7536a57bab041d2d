// SPDX-License-Identifier: MIT
#include "backends/redis/native_cells.hpp"

#include "backends/redis/native_cell_write.lua.hpp"
#include "backends/redis/native_keys.hpp"
#include "core/names.hpp"

#include <cstring>
#include <utility>

namespace interlock::inline v1::redis_store::native {
namespace {

constexpr std::size_t header = 14;  // form, version, there, length

// Never destroyed: a client may still be closing while the program exits.
const script& write_script() {
  static const auto& one = *new script(embedded::redis_native_cell_write_lua);
  return one;
}

std::uint64_t little_endian(std::string_view bytes) noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

result<version> read_outcome(std::string_view name, std::int64_t answer) {
  if (answer > 0) return version{static_cast<std::uint64_t>(answer)};
  if (answer == 0)
    return failure(errc::conflict, "somebody has changed " + core::shown_name(name) + " in the meantime");
  if (answer == -1) return failure(errc::indeterminate, "too much has happened since to tell whether it was done");
  return failure(errc::invalid_argument, "there is nothing to remove: " + core::shown_name(name));
}

}  // namespace

std::string cell_key(std::string_view name) {
  std::string out = "ilk1:{";
  append_encoded(out, name);
  return out += "}:v";
}

std::string cell_channel(std::string_view name) {
  std::string out = "ilk1:w:";
  append_encoded(out, name);
  return out;
}

std::optional<cell> read_cell(std::string_view bytes) {
  if (bytes.size() < header || bytes[0] != 'c') return {};
  const auto length = little_endian(bytes.substr(10, 4));
  if (bytes.size() - header < length) return {};
  if (bytes[9] == 0) return cell{};
  return cell{std::string(bytes.substr(header, length)), {little_endian(bytes.substr(1, 8))}};
}

const cell_limits& cells::limits() const noexcept {
  static constexpr cell_limits told{.push = true}, polls{.push = false};
  return channels_.deaf() ? polls : told;
}

void cells::read(std::string_view name, completion<cell> done) {
  const auto key = cell_key(name);
  way_.send(packet({"GET", key}, key), inline_work::never, [done = std::move(done)](const result<reply>& said) mutable {
    if (!said) return done(said.error());
    if (said->is() == reply::kind::nil) return done(cell{});
    auto found = read_cell(said->text());
    if (!found) return done(failure(errc::unsupported, "the key is used for something else than a cell"));
    done(std::move(*found));
  });
}

void cells::write_if(const cell_write& what, completion<version> done) {
  const auto key = cell_key(what.name);
  const auto keep = what.value ? what.keep : cell_tomb_time;
  const auto& mark = what.mark.bytes();
  packet out(write_script(), {key}, 8);
  out.arg(static_cast<std::int64_t>(what.expected.number)).arg(what.value ? "1" : "0");
  out.arg(what.value.value_or(std::string_view{}));
  out.arg(std::string_view(reinterpret_cast<const char*>(mark.data()), mark.size()));
  out.arg(what.again ? "1" : "0").arg(keep.count()).arg(cell_channel(what.name));
  out.arg(static_cast<std::int64_t>(cell_marks));
  way_.send(out, inline_work::never, [name = what.name, done = std::move(done)](const result<reply>& said) mutable {
    done(said ? read_outcome(name, said->number()) : result<version>(said.error()));
  });
}

subscription cells::watch(std::string_view name, std::function<void()> changed) {
  return channels_.watch(cell_channel(name), std::move(changed));
}

}  // namespace interlock::inline v1::redis_store::native
