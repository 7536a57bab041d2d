// SPDX-License-Identifier: MIT
#include "backends/mysql/asker.hpp"

#include "backends/mysql/server_error.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <span>

namespace interlock::inline v1::mysql_store {

asker::asker(my_handle with, my_statement ask, const sql::object_names& names, std::string origin)
    : with_(std::move(with)),
      ask_(std::move(ask)),
      tidy_(sql::filled_in("call {schema}.{table_tidy}()", names)),
      origin_(std::move(origin)) {
  bind_reply();
}

asker::asker(my_handle with, std::vector<prepared> others) : with_(std::move(with)), others_(std::move(others)) {
  bind_reply();
  bind_values();
}

void asker::bind_reply() {
  reply_bind_.buffer_type = MYSQL_TYPE_BLOB;
  reply_bind_.buffer = reply_.data();
  reply_bind_.buffer_length = reply_.size();
  reply_bind_.length = &reply_length_;
  reply_bind_.is_null = &reply_null_;
}

// Once for all: what is bound anew has its type sent anew.
void asker::bind_values() {
  MYSQL_BIND value{};
  value.buffer_type = MYSQL_TYPE_STRING;
  value.buffer = value_.data();
  value.buffer_length = value_.size();
  value.length = &value_length_;
  for (const auto& one : others_) {
    mysql_stmt_bind_param(one.with.get(), &value);
    mysql_stmt_bind_result(one.with.get(), &reply_bind_);
  }
}

bool asker::send_prepared(const sql::errand& what) {
  for (const auto& one : others_) {
    if (one.name != what.statement) continue;
    executed_ = one.with.get();
    value_length_ = what.parameters[0].copy(value_.data(), value_.size());
    stage_ = stage::execute;
    return true;
  }
  return false;
}

void asker::send_text(const sql::errand& what) {
  text_ = !what.text.empty()                 ? std::string_view(what.text)
          : what.statement == text_statement ? what.parameters[0]
                                             : tidy_;
  stage_ = stage::query;
}

asker::~asker() {
  if (waits_ == 0) return;
  ::shutdown(socket(), SHUT_RDWR);  // a call that was begun has to end before the library lets go of anything
  while (waits_ != 0) pump();
}

bool asker::send(const sql::flight& what) {
  replies_.clear();
  table_.reset();
  wrong_.reset();
  row_.clear();
  if (const auto* const one = what.statement()) {
    if (!one->text.empty() || !send_prepared(*one)) send_text(*one);
  } else {
    std::vector<const sql::question*> asked;
    asked.reserve(what.order.size());
    for (const auto& at : what.order) asked.push_back(&what.at(at));
    parameters_.write(asked, origin_);
    executed_ = ask_.get();
    mysql_stmt_bind_param(executed_, parameters_.binds());
    stage_ = stage::execute;
  }
  pump();
  return true;
}

bool asker::flush() noexcept {
  if ((waits_ & MYSQL_WAIT_WRITE) == 0) return false;
  pollfd one{socket(), POLLOUT, 0};
  if (::poll(&one, 1, 0) > 0) pump();
  return (waits_ & MYSQL_WAIT_WRITE) != 0;
}

// Nothing is said without being asked, but for the end.
bool asker::is_open() const noexcept {
  char byte = 0;
  const auto got = ::recv(socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EINTR);
}

sql::session::progress asker::receive(sql::flight* under_way, std::vector<std::string>&, patience) {
  if (under_way == nullptr) return is_open() ? progress::waits : progress::broken;
  if (!answered()) pump();
  if (stage_ == stage::broken) return progress::broken;
  if (stage_ != stage::over) return progress::waits;
  stage_ = stage::idle;
  under_way->replies = std::move(replies_);
  under_way->table = std::move(table_);
  under_way->row = row_;
  under_way->wrong = std::move(wrong_);
  return progress::over;
}

// Whether the call has ended; if not, waits_ says what it needs.
template <class Start, class Continue>
bool asker::step(Start start, Continue go_on) {
  waits_ = waits_ == 0 ? start() : go_on(waits_);
  return waits_ == 0;
}

void asker::refused(unsigned number, const char* text) {
  if (is_of_the_client(number)) {
    words_ = tidy_text(text);
    stage_ = stage::broken;
    return;
  }
  wrong_ = refusal_of(number, text);
  stage_ = stage::over;
}

void asker::read_reply() {
  const bool has = mysql_stmt_fetch(executed_) == 0;  // out of memory: it has been read
  if (executed_ == ask_.get()) {
    replies_ = read_replies({reply_.data(), std::min<std::size_t>(reply_length_, reply_.size())});
  } else if (has) {
    row_.set({reply_.data(), reply_null_ == 0 ? reply_length_ : 0});
  }
}

// As far as it goes without waiting.
void asker::pump() {
  auto* const with = with_.get();
  auto* const ask = executed_;
  for (;;) {
    switch (stage_) {
      case stage::execute:
        if (!step([&] { return mysql_stmt_execute_start(&failed_, ask); },
                  [&](int ready) { return mysql_stmt_execute_cont(&failed_, ask, ready); }))
          return;
        if (failed_ != 0) return refused(mysql_stmt_errno(ask), mysql_stmt_error(ask));
        if (ask == ask_.get()) mysql_stmt_bind_result(ask, &reply_bind_);  // each result of a procedure is another
        stage_ = stage::reply;
        break;
      case stage::reply:
        if (!step([&] { return mysql_stmt_store_result_start(&failed_, ask); },
                  [&](int ready) { return mysql_stmt_store_result_cont(&failed_, ask, ready); }))
          return;
        if (failed_ != 0) return refused(mysql_stmt_errno(ask), mysql_stmt_error(ask));
        read_reply();
        stage_ = stage::rest;
        break;
      case stage::rest:
        if (waits_ == 0 && mysql_stmt_more_results(ask) == 0) {
          stage_ = stage::over;
          break;
        }
        if (!step([&] { return mysql_stmt_next_result_start(&failed_, ask); },
                  [&](int ready) { return mysql_stmt_next_result_cont(&failed_, ask, ready); }))
          return;
        if (failed_ > 0) return refused(mysql_stmt_errno(ask), mysql_stmt_error(ask));
        if (failed_ < 0) stage_ = stage::over;
        break;
      case stage::query:
        if (!step([&] { return mysql_real_query_start(&failed_, with, text_.data(), text_.size()); },
                  [&](int ready) { return mysql_real_query_cont(&failed_, with, ready); }))
          return;
        if (failed_ != 0) return refused(mysql_errno(with), mysql_error(with));
        stage_ = stage::rows;
        break;
      case stage::rows: {
        if (!step([&] { return mysql_store_result_start(&result_, with); },
                  [&](int ready) { return mysql_store_result_cont(&result_, with, ready); }))
          return;
        const my_rows got(result_);
        if (!got && mysql_errno(with) != 0) return refused(mysql_errno(with), mysql_error(with));
        if (!table_) table_ = std::make_unique<table>(read_rows(got.get()));
        stage_ = stage::more;
        break;
      }
      case stage::more:
        if (waits_ == 0 && mysql_more_results(with) == 0) {
          stage_ = stage::over;
          break;
        }
        if (!step([&] { return mysql_next_result_start(&failed_, with); },
                  [&](int ready) { return mysql_next_result_cont(&failed_, with, ready); }))
          return;
        if (failed_ > 0) return refused(mysql_errno(with), mysql_error(with));
        stage_ = stage::rows;
        break;
      case stage::idle:
      case stage::over:
      case stage::broken: return;
    }
  }
}

}  // namespace interlock::inline v1::mysql_store
