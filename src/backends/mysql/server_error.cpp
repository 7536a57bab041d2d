// SPDX-License-Identifier: MIT
#include "backends/mysql/server_error.hpp"

#include <algorithm>
#include <array>

namespace interlock::inline v1::mysql_store {
namespace {

constexpr std::size_t longest_text = 300;
constexpr unsigned most_tries = 5;       // of a transaction that stood in another's way
constexpr unsigned most_long_waits = 2;  // of one that waited for a row for a second and more

template <std::size_t Count>
bool is_one_of(unsigned number, const std::array<unsigned, Count>& all) {
  return std::find(all.begin(), all.end(), number) != all.end();
}

constexpr std::array denied{
    1044U,         // no right to use the database
    1045U,         // no right to connect
    1142U, 1143U,  // no right to use the table, the column
    1227U,         // needs another privilege
    1370U,         // no right to call or create a procedure
    1698U,         // no right to connect, with this plugin
    1820U, 1862U,  // the password has to be changed first
};
constexpr std::array read_only{
    1290U,  // --read-only prevents this statement
    1792U,  // a read-only transaction
    1836U,  // read-only mode
};
constexpr std::array missing{1049U, 1146U, 1305U};  // database, table, procedure
constexpr std::array killed{
    1053U,  // the server is shutting down
    1927U,  // the connection was killed
    3169U,  // the session was killed
    4031U,  // ended because it was silent
};
constexpr std::array passing{
    1020U,                       // the row has changed
    1021U, 1026U, 1030U, 1114U,  // disk full; error on writing; error of the storage engine; the table is full
    1037U, 1038U, 1041U,         // out of memory
    1040U, 1203U, 1226U,         // too many connections
    1180U,                       // error during COMMIT
    1317U, 1969U, 3024U,         // interrupted, or took too long
    1206U,                       // too many row locks
};

constexpr unsigned deadlock = 1213, long_wait = 1205, unknown_statement = 1243;

}  // namespace

std::string tidy_text(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::string out(text.substr(0, longest_text));
  for (auto& c : out)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return out;
}

failure server_failure(unsigned number, std::string_view text) {
  if (is_of_the_client(number)) return failure(errc::unavailable, tidy_text(text));
  const auto said = "the server says: " + tidy_text(text) + " (" + std::to_string(number) + ")";
  if (is_one_of(number, denied)) return failure(errc::denied, said);
  if (is_one_of(number, read_only))
    return failure(errc::unavailable, said + "; locks need the primary, and this is a replica or read-only");
  if (number == long_wait)
    return failure(errc::unavailable, said + "; another transaction keeps the name's row locked");
  if (number == unknown_statement)
    return failure(errc::unsupported, said + "; a pooler in between gave us another session");
  if (number == deadlock || is_one_of(number, missing) || is_one_of(number, killed) || is_one_of(number, passing))
    return failure(errc::unavailable, said);
  return failure(errc::internal, said);
}

sql::refusal refusal_of(unsigned number, std::string_view text) {
  return {.why = server_failure(number, text),
          .tries = number == deadlock    ? most_tries
                   : number == long_wait ? most_long_waits
                                         : 1,
          .ends = is_one_of(number, read_only) || is_one_of(number, missing) || number == unknown_statement,
          .after_the_end = is_one_of(number, killed)};
}

}  // namespace interlock::inline v1::mysql_store
