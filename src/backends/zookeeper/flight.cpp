// SPDX-License-Identifier: MIT
#include "backends/zookeeper/link.hpp"
#include "backends/zookeeper/requests.hpp"

#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

/// Requests that have piled up go out as one: a server decides and writes down many changes for little more than one,
/// and answers many questions at once for little more than one.
///
/// It does all of the changes or none. So where one of them cannot be done, each is asked for again by itself; and
/// until that is known nothing else is sent, because requests about the same node must not overtake each other.
namespace interlock::inline v1::zookeeper_store {
namespace {

constexpr std::size_t most_items = 256;
constexpr std::size_t most_bytes = std::size_t{256} << 10;  // servers take a megabyte
constexpr unsigned apart_after_refusal = 128;

bool makes(std::string_view body) { return reader(body).number() != 2; }

// "/locks/orders" in a request about "/locks/orders/x".
std::string_view parent_in(std::string_view body) {
  reader from(body);
  from.number();
  const auto path = from.text();
  return path.substr(0, path.rfind('/'));
}

}  // namespace

struct link::flight {
  std::vector<outgoing> items{};
  unsigned under_way = 0;  // requests without an answer
  bool refused = false;    // none of the changes was made
  bool lists_refused = false;

  [[nodiscard]] std::vector<outgoing*> all(together kind) {
    std::vector<outgoing*> out;
    for (auto& one : items)
      if (one.as == kind) out.push_back(&one);
    return out;
  }
};

// [mutex_]
void link::ask(std::string_view body, answer_handler done) {
  last_number_ = last_number_ == 0x7fffffff ? 1 : last_number_ + 1;
  const auto begin = out_base_ + out_.size();
  put(last_number_, body);
  asked_.push_back({last_sent_, begin, last_number_, std::move(done)});
}

// [mutex_] How many from `first` on can be one. Two nodes made below one parent cannot: both would have the number of
// the same change, and that number is the token.
std::size_t link::run_at(std::size_t first) const {
  if (first + 1 == gathered_.size()) return 0;
  if (first + 2 == gathered_.size() && gathered_[first].as != gathered_[first + 1].as) return 0;  // a lone caller's
  std::size_t end = first, bytes = 0, changes = 0, lists = 0;
  std::unordered_set<std::string_view> parents;
  for (; end < gathered_.size() && end - first < most_items && bytes < most_bytes; ++end) {
    const auto& one = gathered_[end];
    if (one.as == together::never || (one.as == together::change && changes >= 1 && apart_ > 0)) break;
    if (one.as == together::change && makes(one.body) && !parents.insert(parent_in(one.body)).second) break;
    bytes += one.body.size();
    ++(one.as == together::change ? changes : lists);
  }
  return changes > 1 || (lists > 1 && !lists_apart_) ? end - first : 0;
}

// [mutex_] Whatever was asked for and may go now is put behind what is to be sent.
void link::assemble() {
  std::size_t at = 0;
  while (at < gathered_.size() && !in_flight_) {
    if (const auto length = run_at(at); length > 0) {
      launch(std::span(gathered_).subspan(at, length));
      at += length;
      continue;
    }
    auto& one = gathered_[at++];
    if (one.as == together::change && apart_ > 0) --apart_;
    ask(one.body, std::move(one.done));
  }
  gathered_.erase(gathered_.begin(), gathered_.begin() + static_cast<std::ptrdiff_t>(at));
}

// [mutex_]
void link::launch(std::span<outgoing> items) {
  const auto with = std::make_shared<flight>();
  with->items.assign(std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  in_flight_ = true;
  const auto bodies = [&](together kind) {
    std::vector<std::string> out;
    for (const auto* one : with->all(kind)) out.push_back(one->body);
    return out;
  };
  if (const auto changes = bodies(together::change); !changes.empty()) {
    ++with->under_way;
    ask(changes.size() == 1 ? changes.front() : ask_all(changes), [this, with](answer got) { changed(with, got); });
  }
  const auto lists = bodies(together::list);
  if (lists.empty()) return;
  if (lists.size() > 1 && !lists_apart_) {
    ++with->under_way;
    return ask(ask_lists(lists), [this, with](answer got) { listed(with, got); });
  }
  for (auto* one : with->all(together::list)) {
    ++with->under_way;
    ask(one->body, [this, with, one](answer got) {
      if (!with->refused) one->done(got);
      landed(*with);
    });
  }
}

void link::changed(const std::shared_ptr<flight>& with, answer got) {
  const auto all = with->all(together::change);
  const auto change = last_change_.load();
  const int error = all.size() == 1 ? got.error : error_of_all(got.error, got.body);
  // Told by the server about each of them or by nobody: asking again would change nothing.
  const bool final = all.size() == 1 || error == code::not_sent || error == code::unknown ||
                     error == code::session_moved || error == code::session_expired;
  with->refused = error != code::ok && !final;
  if (error != code::ok || all.size() == 1) {
    for (auto* one : all)
      if (!with->refused) one->done({error, got.body});
  } else {
    for (auto* one : all) {
      const auto part = next_part(got.body, change);
      one->done({part.error, part.body});
    }
  }
  landed(*with);
}

void link::listed(const std::shared_ptr<flight>& with, answer got) {
  with->lists_refused = got.error == code::unimplemented;
  if (!with->refused && !with->lists_refused) {
    for (auto* one : with->all(together::list)) {
      if (got.error != code::ok) {
        one->done(got);
        continue;
      }
      const auto part = next_part(got.body, 0);
      one->done({part.error, part.body});
    }
  }
  landed(*with);
}

// One more answer is here. After the last one, what was refused is asked for again by itself, before anything newer.
void link::landed(flight& with) {
  if (--with.under_way > 0) return;
  std::vector<outgoing> again;
  for (auto& one : with.items)
    if (with.refused || (with.lists_refused && one.as == together::list)) {
      one.as = together::never;
      again.push_back(std::move(one));
    }
  if (state_.load() == state::dead) {
    for (auto& one : again) one.done({code::not_sent, {}});
    return;
  }
  const std::lock_guard lock(mutex_);
  in_flight_ = false;
  if (with.refused) apart_ = apart_after_refusal;
  if (with.lists_refused) lists_apart_ = true;
  gathered_.insert(gathered_.begin(), std::make_move_iterator(again.begin()), std::make_move_iterator(again.end()));
}

}  // namespace interlock::inline v1::zookeeper_store
