// SPDX-License-Identifier: MIT
#include "backends/redis/cluster_map.hpp"

#include <algorithm>
#include <charconv>

namespace interlock::inline v1::redis_store {
namespace {

constexpr std::size_t most_masters = 1'000;

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::uint16_t cluster_map::index_of(const endpoint& where) {
  const auto found = std::find(masters.begin(), masters.end(), where);
  if (found != masters.end()) return static_cast<std::uint16_t>(found - masters.begin());
  if (masters.size() >= most_masters) return nobody;
  masters.push_back(where);
  return static_cast<std::uint16_t>(masters.size() - 1);
}

std::optional<cluster_map> read_cluster_map(reply all, const endpoint& asked) {
  if (all.is() != reply::kind::list || all.size() == 0) return {};
  cluster_map out;
  for (const auto range : all) {
    const auto first = range[0].number(), last = range[1].number();
    const auto node = range[2];
    const auto port = node[1].number();
    if (range.size() < 3 || first < 0 || last < first || last >= static_cast<std::int64_t>(cluster_map::slots) ||
        port < 1 || port > 65535)
      return {};
    auto host = std::string(node[0].text());
    if (host.empty() || host == "?") host = asked.host;
    const auto index = out.index_of({.host = host, .port = static_cast<std::uint16_t>(port), .path = {}});
    if (index == cluster_map::nobody) return {};
    std::fill(out.owner.begin() + first, out.owner.begin() + last + 1, index);
  }
  return out;
}

std::optional<redirect> read_redirect(std::string_view error, const endpoint& asked) {
  const auto one = error.find(' ');
  const auto two = one == error.npos ? one : error.find(' ', one + 1);
  if (two == error.npos) return {};
  const auto slot = number_in<std::uint16_t>(error.substr(one + 1, two - one - 1));
  const auto place = error.substr(two + 1);
  const auto colon = place.rfind(':');
  if (!slot || *slot >= cluster_map::slots || colon == place.npos) return {};
  const auto port = number_in<std::uint16_t>(place.substr(colon + 1));
  if (!port || *port == 0) return {};
  redirect out;
  out.slot = *slot;
  out.where.host = colon == 0 ? asked.host : std::string(place.substr(0, colon));
  out.where.port = *port;
  return out;
}

}  // namespace interlock::inline v1::redis_store
