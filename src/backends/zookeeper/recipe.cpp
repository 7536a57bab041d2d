// SPDX-License-Identifier: MIT
#include "backends/zookeeper/recipe.hpp"

#include "core/sha256.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace interlock::inline v1::zookeeper_store {
namespace {

constexpr std::string_view protection = "_c_";
constexpr std::size_t uuid_size = 36;

std::string uuid(const claim_id& id) {
  auto out = to_string(id);
  for (const std::size_t at : {20U, 16U, 12U, 8U}) out.insert(at, 1, '-');
  return out;
}

// At least ten characters: digits, or a minus and digits. Every node of a list is read, for every way of writing it: so
// it is looked for from the end, where the digits are.
std::optional<std::int32_t> number_behind(std::string_view marker, std::string_view child) {
  if (marker.empty()) return {};
  auto at = child.find_last_not_of("0123456789") + 1;
  if (!child.substr(0, at).ends_with(marker) && at > 0 && child[at - 1] == '-') --at;
  const auto text = child.substr(at);
  if (text.size() < 10 || !child.substr(0, at).ends_with(marker)) return {};
  std::int32_t out = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (wrong != std::errc{} || end != text.data() + text.size()) return {};
  return out;
}

}  // namespace

std::string node_prefix(const recipe& how, const claim_id& id, std::string_view marker) {
  std::string out;
  if (how.curator) {
    out = std::string(protection) + uuid(id) + "-";
  } else {
    out = to_string(id);
  }
  out += marker;
  return out;
}

std::optional<contender> read_contender(const recipe& how, std::string_view child) {
  if (const auto number = number_behind(how.writer, child)) return contender{std::string(child), *number, false};
  if (const auto number = number_behind(how.reader, child)) return contender{std::string(child), *number, true};
  return {};
}

std::vector<contender> line_up(const recipe& how, const std::vector<std::string_view>& children) {
  std::vector<contender> out;
  out.reserve(children.size());
  for (const auto child : children)
    if (auto one = read_contender(how, child)) out.push_back(std::move(*one));
  // A writer that became a reader keeps its number for a moment in both forms: it reads.
  std::sort(out.begin(), out.end(), [](const contender& left, const contender& right) {
    if (left.number != right.number) return comes_before(left.number, right.number);
    if (left.reads != right.reads) return left.reads;
    return left.node < right.node;
  });
  return out;
}

const recipe* foreign_recipe(const recipe& ours, const std::vector<std::string_view>& children) {
  constexpr std::array all{&curator_mutex, &curator_rw, &curator_latch, &kazoo_lock};
  for (const auto child : children) {
    if (read_contender(ours, child)) continue;
    for (const auto* one : all)
      if (one->writer != ours.writer && read_contender(*one, child)) return one;
  }
  return nullptr;
}

claim_id id_of(std::string_view node) {
  if (node.starts_with(protection) && node.size() > protection.size() + uuid_size) {
    std::string digits(node.substr(protection.size(), uuid_size));
    std::erase(digits, '-');
    if (const auto id = claim_id::parse(digits)) return *id;
  }
  if (const auto id = claim_id::parse(node.substr(0, 32)); id && node.substr(32).starts_with("__")) return *id;
  const auto whole = core::sha256(std::as_bytes(std::span(node.data(), node.size())));
  std::array<std::byte, 16> half{};
  std::copy_n(whole.begin(), half.size(), half.begin());
  return claim_id(half);
}

std::size_t holders_in(const std::vector<contender>& line) noexcept {
  std::size_t out = 0;
  while (out < line.size() && line[out].reads) ++out;
  return out == 0 && !line.empty() ? 1 : out;
}

place find_place(const std::vector<contender>& line, std::string_view node) {
  place out;
  const auto mine = std::find_if(line.begin(), line.end(), [&](const contender& one) { return one.node == node; });
  if (mine == line.end()) return out;
  out.there = true;
  const auto at = static_cast<std::size_t>(mine - line.begin());
  const auto holding = holders_in(line);
  out.granted = at < holding;
  const auto waiting = static_cast<std::uint32_t>(line.size() - holding);
  out.behind = out.granted ? waiting : waiting - 1;
  if (out.granted) return out;
  out.ahead = static_cast<std::uint32_t>(at - holding);
  auto before = at - 1;
  if (mine->reads)
    while (line[before].reads) --before;  // readers are not in a reader's way; some writer is, or it would be granted
  out.watch = line[before].node;
  return out;
}

}  // namespace interlock::inline v1::zookeeper_store
