// SPDX-License-Identifier: MIT
#include "backends/redis/native_survey.hpp"

#include "backends/redis/native_record.hpp"
#include "backends/redis/native_scripts.hpp"
#include "backends/redis/server_error.hpp"

#include <algorithm>
#include <utility>

namespace interlock::inline v1::redis_store::native {
namespace {
constexpr std::size_t at_once = 64;  // names asked about in one go
}

survey_walk::survey_walk(courier& way, told keys, survey_query what, completion<survey_page> done)
    : way_(way), keys_(keys), what_(std::move(what)), pattern_(book_pattern(what_.prefix)), done_(std::move(done)) {}

void survey_walk::begin() {
  if (what_.exact) {
    if (what_.prefix > what_.after) names_.push_back(what_.prefix);
    return show_some();
  }
  const auto masters = way_.masters();
  under_way_ = masters;
  if (masters == 0) return fail(failure(errc::unavailable, "no server is known"));
  for (std::size_t i = 0; i < masters; ++i) scan(i, "0");
}

void survey_walk::scan(std::size_t master, std::string_view cursor) {
  const packet out({"SCAN", cursor, "MATCH", pattern_, "COUNT", "1000"});
  way_.send_to(master, out,
               [self = shared_from_this(), master](const result<reply>& said) { self->scanned(master, said); });
}

void survey_walk::scanned(std::size_t master, const result<reply>& said) {
  if (!said) return fail(said.error());
  const auto cursor = (*said)[0].text();
  {
    const std::lock_guard lock(mutex_);
    if (!done_) return;
    for (const auto key : (*said)[1])
      if (auto name = name_of_book(key.text()); name && name->starts_with(what_.prefix) && *name > what_.after)
        names_.push_back(std::move(*name));
  }
  if (!cursor.empty() && cursor != "0") return scan(master, cursor);
  {
    const std::lock_guard lock(mutex_);
    if (--under_way_ > 0) return;
  }
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());  // SCAN may list a key twice
  show_some();
}

void survey_walk::show_some() {
  const auto count = std::min(at_once, names_.size() - next_);
  if (count == 0) return finish();
  some_.assign(count, {});
  under_way_ = count;
  const auto from = std::exchange(next_, next_ + count);
  for (std::size_t i = 0; i < count; ++i) {
    auto out = question(show_script(), keys_, 1, 0);
    add_keys(out, names_[from + i], keys_);
    way_.send(out, inline_work::never,
              [self = shared_from_this(), i, from](const result<reply>& said) { self->shown(from + i, said); });
  }
}

void survey_walk::shown(std::size_t index, const result<reply>& said) {
  // A key that is not ours is in nobody's way: nothing to show.
  if (!said && said.error() != errc::unsupported) return fail(said.error());
  auto info = said ? read_show(names_[index], *said) : lock_info{};
  {
    const std::lock_guard lock(mutex_);
    some_[some_.size() - (next_ - index)] = std::move(info);
    if (--under_way_ > 0) return;
  }
  round_over();
}

void survey_walk::round_over() {
  for (auto& one : some_) {
    if (one.holders.empty() && one.waiters.empty()) continue;
    if (page_.locks.size() == what_.most) {
      page_.more = true;
      return finish();
    }
    page_.locks.push_back(std::move(one));
  }
  show_some();
}

void survey_walk::finish() {
  completion<survey_page> done;
  {
    const std::lock_guard lock(mutex_);
    done = std::exchange(done_, {});
  }
  if (done) done(std::move(page_));
}

// The first failure is the answer; what is still under way is not waited for.
void survey_walk::fail(const failure& why) {
  completion<survey_page> done;
  {
    const std::lock_guard lock(mutex_);
    done = std::exchange(done_, {});
  }
  if (done) done(why);
}

}  // namespace interlock::inline v1::redis_store::native
