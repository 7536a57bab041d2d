// SPDX-License-Identifier: MIT
#include "backends/zookeeper/requests.hpp"

#include <string>

namespace interlock::inline v1::zookeeper_store {
namespace {

constexpr std::int32_t create_1 = 1, create_2 = 15, create_container = 19;
constexpr std::int32_t all_rights = 31;

std::string begin(std::int32_t kind, std::string_view path) {
  std::string out;
  out.reserve(path.size() + 64);
  put_number(out, kind);
  put_text(out, path);
  return out;
}

void put_rights(std::string& to, rights whose) {
  put_number(to, 1);
  put_number(to, all_rights);
  put_text(to, whose == rights::creator ? "auth" : "world");
  put_text(to, whose == rights::creator ? "" : "anyone");
}

}  // namespace

std::string ask_create(std::string_view path, std::string_view data, rights whose, node_kind kind) {
  auto out = begin(kind == node_kind::container ? create_container : create_2, path);
  put_text(out, data);
  put_rights(out, whose);
  put_number(out, static_cast<std::int32_t>(kind));
  return out;
}

std::string ask_delete(std::string_view path) {
  auto out = begin(2, path);
  put_number(out, -1);
  return out;
}

std::string ask_exists(std::string_view path) {
  auto out = begin(3, path);
  put_flag(out, false);
  return out;
}

std::string ask_data(std::string_view path, bool watch) {
  auto out = begin(4, path);
  put_flag(out, watch);
  return out;
}

std::string ask_set_data(std::string_view path, std::string_view data, std::int32_t version) {
  auto out = begin(5, path);
  put_text(out, data);
  put_number(out, version);
  return out;
}

std::string ask_children(std::string_view path, bool watch) {
  auto out = begin(8, path);
  put_flag(out, watch);
  return out;
}

std::string ask_rights(std::string_view path) { return begin(6, path); }

std::string ask_sync(std::string_view path) { return begin(9, path); }

std::string ask_close() {
  std::string out;
  put_number(out, -11);
  return out;
}

namespace {

std::string many_in_one(std::int32_t kind, std::span<const std::string> requests) {
  std::string out;
  put_number(out, kind);
  for (const auto& one : requests) {
    out += one.substr(0, 4);  // its kind
    put_flag(out, false);
    put_number(out, -1);
    out += one.substr(4);
  }
  put_number(out, -1);
  put_flag(out, true);
  put_number(out, -1);
  return out;
}

}  // namespace

std::string ask_all(std::span<const std::string> requests) { return many_in_one(14, requests); }

std::string ask_lists(std::span<const std::string> requests) { return many_in_one(22, requests); }

int error_of_all(int error, reader body) {
  constexpr int because_of_another = -2;
  bool wrong = false;
  while (error == code::ok && body.ok()) {
    const auto kind = body.number();
    if (body.flag()) break;
    body.number();
    if (kind != -1) return error;  // all was done
    wrong = true;
    if (const auto why = body.number(); why != code::ok && why != because_of_another) error = why;
  }
  return error == code::ok && wrong ? code::unimplemented : error;
}

std::string_view next_made(reader& from) {
  const auto kind = from.number();
  const bool over = from.flag();
  from.number();
  if (over || (kind != create_1 && kind != create_2)) return {};
  const auto path = from.text();
  if (kind == create_2) from.stat();  // what servers answer with differs by version
  return path;
}

part_answer next_part(reader& from, std::int64_t change) {
  constexpr std::int32_t wrong = -1, list = 8;
  part_answer out;
  const auto kind = from.number();
  from.flag();
  from.number();
  out.body = from;
  if (kind == wrong) {
    out.error = from.number();
  } else if (kind == list) {
    for (auto left = from.number(); left > 0 && from.ok(); --left) from.text();
  } else if (kind == create_2) {
    from.text();
    from.stat();
  } else if (kind == create_1) {  // without what a server knows of the node: its maker is the change itself
    put_text(out.made, from.text());
    put_big(out.made, change);
    out.made.append(60, '\0');
    out.body = reader(out.made);
  }
  if (!from.ok()) out.error = code::unknown;
  return out;
}

std::string greeting(std::int64_t last_change, std::int32_t timeout, std::int64_t session, std::string_view password) {
  std::string out;
  put_number(out, 0);
  put_big(out, last_change);
  put_number(out, timeout);
  put_big(out, session);
  put_text(out, password.empty() ? std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16) : password);
  put_flag(out, false);  // a server that may only read is of no use to us
  return out;
}

std::string credentials(std::string_view user_and_password) {
  std::string out;
  put_number(out, 100);
  put_number(out, 0);
  put_text(out, "digest");
  put_text(out, user_and_password);
  return out;
}

failure failure_of(int error, std::string_view while_doing) {
  const auto words = "zookeeper: " + std::string(while_doing) + ": ";
  switch (error) {
    case code::not_sent: return failure(errc::unavailable, words + "not connected");
    case code::unknown: return failure(errc::indeterminate, words + "the connection ended before the answer came");
    case code::session_expired: return failure(errc::unavailable, words + "the session is over");
    case code::session_moved: return failure(errc::indeterminate, words + "the session has moved to another server");
    case code::no_node: return failure(errc::unavailable, words + "the node has vanished");
    case code::no_auth: return failure(errc::denied, words + "the server says we may not (the nodes' ACL)");
    case code::auth_failed: return failure(errc::denied, words + "the server does not accept user and password");
    case code::invalid_acl:
      return failure(errc::denied, words + "the server does not accept the ACL; is a user given?");
    default: return failure(errc::unavailable, words + "the server answers with error " + std::to_string(error));
  }
}

}  // namespace interlock::inline v1::zookeeper_store
