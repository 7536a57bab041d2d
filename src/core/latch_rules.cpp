// SPDX-License-Identifier: MIT
#include "core/latch_rules.hpp"

#include "core/names.hpp"

#include <charconv>
#include <optional>
#include <utility>

namespace interlock::inline v1::core {
namespace {

/// How a latch stands. In a cell of ours it is written as "latch 2/5": 2 of 5 are still to come.
struct latch_state {
  bool there = false;
  std::uint32_t left = 0;
};

constexpr std::string_view word = "latch ";

std::optional<std::uint32_t> number(std::string_view& text) noexcept {
  std::uint32_t out = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  if (read.ec != std::errc{} || read.ptr == text.data()) return {};
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return out;
}

failure other_count(const latch_terms& terms, std::uint32_t theirs, std::string_view how) {
  return failure(errc::invalid_argument, "latch " + shown_name(terms.name) + " counts from " + std::string(how) +
                                             std::to_string(theirs) + ", not from " + std::to_string(terms.count));
}

result<latch_state> read(const latch_terms& terms, const cell& found) {
  if (found.version.number == 0) return latch_state{false, terms.counts_only ? 0 : terms.count};
  std::string_view text = found.value;
  const failure not_one(errc::invalid_argument, shown_name(terms.name) + " is in use for something else than a latch");
  if (terms.counts_only) {
    const auto left = number(text);
    if (!left || !text.empty()) return not_one;
    if (*left > terms.count) return other_count(terms, *left, "at least ");
    return latch_state{true, *left};
  }
  if (!text.starts_with(word)) return not_one;
  text.remove_prefix(word.size());
  const auto left = number(text);
  if (!left || !text.starts_with('/')) return not_one;
  text.remove_prefix(1);
  const auto count = number(text);
  if (!count || !text.empty()) return not_one;
  if (*count != terms.count) return other_count(terms, *count, "");
  return latch_state{true, *left};
}

std::string write(const latch_terms& terms, std::uint32_t left) {
  if (terms.counts_only) return std::to_string(left);
  return std::string(word) + std::to_string(left) + '/' + std::to_string(terms.count);
}

// Every rule begins with this.
template <class F>
cell_rule rule(latch_terms terms, F decide) {
  return [terms = std::move(terms), decide](const cell& found) {
    const auto now = read(terms, found);
    if (!now) return cell_verdict::finish(now.error());
    return decide(terms, *now);
  };
}

}  // namespace

cell_rule count_down_rule(latch_terms terms, std::uint32_t by) {
  return rule(std::move(terms), [by](const latch_terms& about, const latch_state& now) {
    if (by > now.left)
      return cell_verdict::finish(
          failure(errc::invalid_argument, "latch " + shown_name(about.name) + " is at " + std::to_string(now.left) +
                                              " and cannot be counted down by " + std::to_string(by)));
    const auto left = now.left - by;
    return by == 0 ? cell_verdict::finish(left) : cell_verdict::write(write(about, left), left);
  });
}

cell_rule wait_rule(latch_terms terms) {
  return rule(std::move(terms), [](const latch_terms&, const latch_state& now) {
    return now.left == 0 ? cell_verdict::finish(0U) : cell_verdict::wait();
  });
}

cell_rule left_rule(latch_terms terms) {
  return rule(std::move(terms),
              [](const latch_terms&, const latch_state& now) { return cell_verdict::finish(now.left); });
}

cell_rule create_rule(latch_terms terms) {
  return rule(std::move(terms), [](const latch_terms& about, const latch_state& now) {
    return now.there ? cell_verdict::finish(0U) : cell_verdict::write(write(about, about.count), 1);
  });
}

cell_rule reset_rule(latch_terms terms) {
  return rule(std::move(terms), [](const latch_terms& about, const latch_state& now) {
    const bool full = now.left == about.count;
    return full ? cell_verdict::finish(about.count) : cell_verdict::write(write(about, about.count), about.count);
  });
}

}  // namespace interlock::inline v1::core
