// SPDX-License-Identifier: MIT
#include "backends/zookeeper/survey.hpp"

#include "backends/zookeeper/requests.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace interlock::inline v1::zookeeper_store {
namespace {

constexpr std::size_t names_at_once = 64;

/// A walk over names. Each step asks for many things at once and goes on when all have been answered.
class walk final : public std::enable_shared_from_this<walk> {
 public:
  walk(std::shared_ptr<session> through, const lock_root& root, const recipe& how, survey_query what,
       unique_function<void(result<sight>)> done)
      : through_(std::move(through)), root_(root), how_(how), what_(std::move(what)), done_(std::move(done)) {}

  void begin() {
    hold_on();
    ask(ask_sync(root_.listed()), [](walk&, answer) {});  // the server we are at may be behind
    if (what_.exact)
      names_.push_back(what_.prefix);
    else
      ask(ask_children(root_.listed(), false), [](walk& self, answer got) {
        for (const auto child : got.body.texts())
          if (auto name = self.root_.name_of(child);
              name && name->starts_with(self.what_.prefix) && *name > self.what_.after)
            self.names_.push_back(std::move(*name));
        std::sort(self.names_.begin(), self.names_.end());
      });
    next_ = [](walk& self) { self.next_names(); };
    one_less();
  }

 private:
  template <class F>
  void ask(const std::string& request, F handle) {
    ++open_;
    const bool went = through_->send(request, inline_work::never,
                                     [self = shared_from_this(), handle = std::move(handle)](answer got) mutable {
                                       if (got.error == code::ok)
                                         handle(*self, got);
                                       else if (got.error != code::no_node)
                                         self->wrong_ = got.error;
                                       self->one_less();
                                     });
    if (!went) {
      --open_;
      wrong_ = code::not_sent;
    }
  }
  void one_less() {
    if (--open_ > 0) return;
    if (wrong_ != code::ok) return std::exchange(done_, {})(failure_of(wrong_, "looking at locks"));
    if (auto* const next = std::exchange(next_, nullptr)) next(*this);
  }

  void next_names() {
    batch_.clear();
    for (; at_ < names_.size() && batch_.size() < names_at_once; ++at_) batch_.push_back({.name = names_[at_]});
    if (batch_.empty() || found_.size() > what_.most) return finish();
    hold_on();
    for (std::size_t i = 0; i < batch_.size(); ++i)
      ask(ask_children(root_.of(batch_[i].name), false), [i](walk& self, answer got) {
        const auto children = got.body.texts();
        self.batch_[i].line = line_up(self.how_, children);
        for (const auto child : children) {
          if (child == "leases") self.list_into(i, "/leases", &seen_lock::pool);
          if (child == "locks") self.list_into(i, "/locks", &seen_lock::queue);
        }
      });
    next_ = [](walk& self) { self.read_nodes(); };
    one_less();
  }
  void list_into(std::size_t i, const char* below, std::vector<std::string> seen_lock::*to) {
    ask(ask_children(root_.of(batch_[i].name) + below, false), [i, to](walk& self, answer got) {
      for (const auto child : got.body.texts()) (self.batch_[i].*to).emplace_back(child);
    });
  }
  void read_nodes() {
    hold_on();
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      const auto path = root_.of(batch_[i].name);
      if (batch_[i].line.empty() && batch_[i].queue.empty() && batch_[i].pool.empty()) continue;
      ask(ask_data(path, false), [i](walk& self, answer got) {
        self.batch_[i].notes = read_lock_notes(got.body.text());
        self.batch_[i].made = static_cast<std::uint64_t>(got.body.stat().czxid);
      });
      for (const auto& one : batch_[i].line) read(i, path, one.node);
      for (const auto& one : batch_[i].queue) read(i, path + "/locks", one);
      for (const auto& one : batch_[i].pool) read(i, path + "/leases", one);
    }
    next_ = [](walk& self) {
      for (auto& one : self.batch_) {
        // What went between the list and the reading is in nobody's way any more.
        std::erase_if(one.line, [&](const contender& each) { return !one.nodes.contains(each.node); });
        std::erase_if(one.queue, [&](const std::string& each) { return !one.nodes.contains(each); });
        std::erase_if(one.pool, [&](const std::string& each) { return !one.nodes.contains(each); });
        if (!one.nodes.empty()) self.found_.push_back(std::move(one));
      }
      self.next_names();
    };
    one_less();
  }
  void read(std::size_t i, const std::string& folder, const std::string& node) {
    ask(ask_data(folder + "/" + node, false), [i, node](walk& self, answer got) {
      std::string data(got.body.text());
      self.batch_[i].nodes[node] = {node, std::move(data), got.body.stat()};
    });
  }
  void hold_on() { ++open_; }  // until all of a step has been asked
  void finish() {
    const bool more = found_.size() > what_.most;
    if (more) found_.resize(what_.most);
    std::exchange(done_, {})(sight{std::move(found_), more});
  }

  const std::shared_ptr<session> through_;
  const lock_root root_;
  const recipe how_;
  const survey_query what_;
  unique_function<void(result<sight>)> done_;
  std::atomic<std::size_t> open_{0};
  std::atomic<int> wrong_{code::ok};
  void (*next_)(walk&) = nullptr;
  std::vector<std::string> names_;
  std::size_t at_ = 0;
  std::vector<seen_lock> batch_, found_;
};

}  // namespace

void look_around(std::shared_ptr<session> through, const lock_root& root, const recipe& how, survey_query what,
                 unique_function<void(result<sight>)> done) {
  std::make_shared<walk>(std::move(through), root, how, std::move(what), std::move(done))->begin();
}

}  // namespace interlock::inline v1::zookeeper_store
