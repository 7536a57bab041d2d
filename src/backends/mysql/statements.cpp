// SPDX-License-Identifier: MIT
#include "backends/mysql/statements.hpp"

#include "backends/mysql/survey.sql.hpp"
#include "backends/mysql/wire.hpp"
#include "backends/sql/survey.hpp"

namespace interlock::inline v1::mysql_store {
namespace {

void replace(std::string& in, std::string_view what, const std::string& by) {
  for (auto at = in.find(what); at != in.npos; at = in.find(what, at + by.size())) in.replace(at, what.size(), by);
}

}  // namespace

std::string survey_text(const sql::object_names& names, const survey_query& what) {
  const auto range = sql::range_of(what);
  std::string out(embedded::mysql_survey_sql);
  out.erase(0, out.find('\n'));  // the line that explains these
  replace(out, "{from}", literal(range.from));
  replace(out, "{before}", literal(range.before));
  replace(out, "{most}", std::to_string(range.most + 1));
  return sql::filled_in(out, names);
}

// One look-up by primary key each, in whatever order; no row is locked.
std::string still_waiting_text(const sql::object_names& names, std::span<const sql::waiting_room::seat> whom) {
  std::string out;
  const auto table = sql::filled_in("{schema}.{table_claim}", names);
  for (std::size_t i = 0; i < whom.size(); ++i) {
    out += (i == 0 ? "select " : " union all select ") + std::to_string(i) + " from " + table +
           " c where c.name = " + literal(whom[i].name) + " and c.seq = " + std::to_string(whom[i].seq) +
           " and not c.evicted and (c.state = 'w' or c.upgrading)";
  }
  return out;
}

}  // namespace interlock::inline v1::mysql_store
