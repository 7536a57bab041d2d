// SPDX-License-Identifier: MIT
#pragma once

#include "backends/zookeeper/jute.hpp"

#include <interlock/error.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

/// What can be asked of a server. A request is its kind and its body; the link adds length and number.
namespace interlock::inline v1::zookeeper_store {

/// Who may do what with a node that is made: everybody, or only who proved to be the same as its maker.
enum class rights : std::uint8_t { anyone, creator };

enum class node_kind : std::int32_t { lasting = 0, ephemeral = 1, ephemeral_sequential = 3, container = 4 };

std::string ask_create(std::string_view path, std::string_view data, rights whose, node_kind kind);
std::string ask_delete(std::string_view path);
std::string ask_exists(std::string_view path);
std::string ask_data(std::string_view path, bool watch);
/// version -1: whatever is there now.
std::string ask_set_data(std::string_view path, std::string_view data, std::int32_t version = -1);
std::string ask_children(std::string_view path, bool watch);
/// Who may do what with it: a list of rights, scheme and who.
std::string ask_rights(std::string_view path);
/// Answered when everything that was decided before has reached the server we talk to.
std::string ask_sync(std::string_view path);
std::string ask_close();
/// All of them or none.
std::string ask_all(std::span<const std::string> requests);
/// Several lists in one question; each is answered by itself. Servers before 3.6 do not know it.
std::string ask_lists(std::span<const std::string> requests);
/// How ask_all() went: what stopped it is told part by part, behind a head that says all is well.
int error_of_all(int error, reader body);
/// An answer to ask_all(): the path that the next part has made, if that is what it did; empty otherwise, and at the
/// end. To be called once for each part.
std::string_view next_made(reader& from);
/// An answer to ask_all() or ask_lists(): what the next part says, up to `from`.
struct part_answer {
  int error = 0;
  reader body{};       ///< as if it had been asked by itself
  std::string made{};  ///< what `body` reads where a server has left out what we need
};
part_answer next_part(reader& from, std::int64_t change);

/// The first thing said on a connection. Session 0: a new one.
std::string greeting(std::int64_t last_change, std::int32_t timeout, std::int64_t session, std::string_view password);
/// "user:password", as a packet of its own number.
std::string credentials(std::string_view user_and_password);

/// What an answer says in the place of an error code. Negative: the server's own.
namespace code {
inline constexpr int ok = 0;
inline constexpr int not_sent = 1;  ///< ours: the connection ended before the request left
inline constexpr int unknown = 2;   ///< ours: the connection ended before its answer came
inline constexpr int unimplemented = -6;
inline constexpr int no_node = -101;
inline constexpr int no_auth = -102;
inline constexpr int bad_version = -103;
inline constexpr int node_exists = -110;
inline constexpr int session_expired = -112;
inline constexpr int invalid_acl = -114;
inline constexpr int auth_failed = -115;
inline constexpr int session_moved = -118;
}  // namespace code

/// As a caller is told it.
failure failure_of(int error, std::string_view while_doing);

}  // namespace interlock::inline v1::zookeeper_store
