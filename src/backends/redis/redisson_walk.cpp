// SPDX-License-Identifier: MIT
#include "backends/redis/redisson_survey.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace interlock::inline v1::redis_store::redisson {

namespace {

/// One page of a survey: finds the books of all servers, then asks about the names in order until the page is full.
class walk : public std::enable_shared_from_this<walk> {
 public:
  walk(courier& way, survey_query what, completion<survey_page> done)
      : way_(way), what_(std::move(what)), done_(std::move(done)) {}

  void scan(std::string_view cursor = "0") {
    if (master_ >= way_.masters()) return ask();
    const packet out({"SCAN", cursor, "MATCH", book_patterns[pattern_], "COUNT", "1000"});
    way_.send_to(master_, out, [self = shared_from_this()](const result<reply>& got) { self->scanned(got); });
  }

 private:
  static constexpr std::size_t at_once = 64;

  void scanned(const result<reply>& got) {
    if (!got) return done_(got.error());
    for (const auto key : (*got)[1])
      if (auto name = name_of_book(key.text()); name && wanted(*name)) names_.insert(std::move(*name));
    const std::string cursor((*got)[0].text());
    if (cursor != "0") return scan(cursor);
    if (++pattern_ == std::size(book_patterns)) {
      pattern_ = 0;
      ++master_;
    }
    scan();
  }

  [[nodiscard]] bool wanted(const std::string& name) const {
    return name.starts_with(what_.prefix) && (what_.after.empty() || name > what_.after);
  }

  // A few names at a time: many of them may turn out to be idle.
  void ask() {
    if (names_.empty() || page_.locks.size() > what_.most) return finish();
    std::vector<std::string> next;
    while (!names_.empty() && next.size() < at_once) next.push_back(std::move(names_.extract(names_.begin()).value()));
    found_.assign(next.size(), {});
    open_ = next.size();
    for (std::size_t i = 0; i < next.size(); ++i)
      ask_about(way_, next[i], [self = shared_from_this(), i, name = next[i]](const result<reply>& got) {
        self->answered(i, name, got);
      });
  }

  void answered(std::size_t i, const std::string& name, const result<reply>& got) {
    {
      const std::lock_guard held(mutex_);
      if (got) found_[i] = read_about(name, *got).info;
      if (!got && !wrong_) wrong_.emplace(got.error());
      if (--open_ > 0) return;
    }
    if (wrong_) return done_(*wrong_);
    for (auto& one : found_)
      if (!one.holders.empty() || !one.waiters.empty()) page_.locks.push_back(std::move(one));
    ask();
  }

  void finish() {
    page_.more = page_.locks.size() > what_.most;
    if (page_.more) page_.locks.resize(what_.most);
    done_(std::move(page_));
  }

  courier& way_;
  survey_query what_;
  completion<survey_page> done_;
  std::size_t master_ = 0, pattern_ = 0;
  std::set<std::string> names_;
  std::mutex mutex_;  // answers of several servers
  std::size_t open_ = 0;
  std::vector<lock_info> found_;
  std::optional<failure> wrong_;
  survey_page page_;
};

}  // namespace

void survey_names(courier& way, survey_query what, completion<survey_page> done) {
  std::make_shared<walk>(way, std::move(what), std::move(done))->scan();
}

}  // namespace interlock::inline v1::redis_store::redisson
