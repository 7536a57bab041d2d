// SPDX-License-Identifier: MIT
#include "backends/postgres/wire.hpp"

#include "backends/sql/survey.hpp"

#include <algorithm>
#include <array>
#include <charconv>

/// PostgreSQL's binary formats: integers in network order, arrays as dimensions, flags, type, length, first index and
/// then each element with its length (src/backend/utils/adt/arrayfuncs.c, array_recv).
namespace interlock::inline v1::postgres_store {
namespace {

constexpr Oid bytea_type = 17, int8_type = 20, int2_type = 21, int4_type = 23, text_type = 25, uuid_type = 2950;
constexpr Oid bytea_array = 1001, int2_array = 1005, int4_array = 1007, int8_array = 1016, uuid_array = 2951;

template <std::size_t Bytes>
void put(std::string& to, std::uint64_t value) {
  for (std::size_t i = Bytes; i-- > 0;) to += static_cast<char>(value >> (8 * i));
}

void begin_array(std::string& to, Oid element, std::size_t size) {
  to.clear();
  put<4>(to, 1);
  put<4>(to, 0);
  put<4>(to, element);
  put<4>(to, size);
  put<4>(to, 1);
}

template <std::size_t Bytes>
void put_element(std::string& to, std::int64_t value) {
  put<4>(to, Bytes);
  put<Bytes>(to, static_cast<std::uint64_t>(value));
}
void put_element(std::string& to, std::string_view bytes) {
  put<4>(to, bytes.size());
  to += bytes;
}

std::string_view bytes_of(const claim_secret& secret) {
  return {reinterpret_cast<const char*>(secret.bytes().data()), secret.bytes().size()};
}

}  // namespace

std::vector<Oid> ask_types() {
  return {int2_array, bytea_array, uuid_array, int4_array,  int8_array, int8_array,
          int8_array, int8_array,  int4_array, bytea_array, text_type};
}

const int* ask_parameters::formats() noexcept {
  static constexpr int all[count] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  return all;
}

void ask_parameters::write(std::span<const sql::question* const> asked, std::string_view channel,
                           std::string_view origin) {
  constexpr Oid elements[] = {int2_type, bytea_type, uuid_type, int4_type, int8_type,
                              int8_type, int8_type,  int8_type, int4_type, bytea_type};
  for (std::size_t i = 0; i < std::size(elements); ++i) begin_array(columns_[i], elements[i], asked.size());
  for (const auto* one : asked) {
    const auto& about = one->about;
    put_element<2>(columns_[0], static_cast<std::int64_t>(one->what));
    put_element(columns_[1], about.name);
    put_element(columns_[2], bytes_of(about.secret));
    put_element<4>(columns_[3], one->flags);
    put_element<8>(columns_[4], about.weight);
    put_element<8>(columns_[5], about.capacity);
    put_element<8>(columns_[6], about.lease.count());
    put_element<8>(columns_[7], about.wait_lease.count());
    put_element<4>(columns_[8], std::max<std::uint32_t>(about.tokens, 1));
    const bool makes = one->what == sql::question::verb::enter;
    if (makes && about.origin != nullptr)
      put_element(columns_[9], sql::write_origin(*about.origin));
    else
      put_element(columns_[9], makes ? origin : std::string_view{});
  }
  columns_[10] = channel;
  for (std::size_t i = 0; i < count; ++i) {
    values_[i] = columns_[i].data();
    lengths_[i] = static_cast<int>(columns_[i].size());
  }
}

namespace {

std::string_view field(const PGresult* rows, int row, int column) noexcept {
  return {PQgetvalue(rows, row, column), static_cast<std::size_t>(PQgetlength(rows, row, column))};
}

std::int64_t integer(std::string_view bytes) noexcept {
  std::uint64_t out = !bytes.empty() && static_cast<unsigned char>(bytes[0]) >= 0x80 ? ~std::uint64_t{0} : 0;
  for (const char one : bytes) out = out << 8 | static_cast<unsigned char>(one);
  return static_cast<std::int64_t>(out);
}

}  // namespace

sql::reply read_reply(const PGresult* rows, int row) noexcept {
  sql::reply out;
  out.is = static_cast<sql::reply::word>(integer(field(rows, row, 0)));
  out.shared = integer(field(rows, row, 1)) != 0;
  out.token = integer(field(rows, row, 2));
  out.tokens = integer(field(rows, row, 3));
  out.ahead = integer(field(rows, row, 4));
  out.behind = integer(field(rows, row, 5));
  out.again = integer(field(rows, row, 6));
  out.seq = integer(field(rows, row, 7));
  return out;
}

std::string big_endian(std::uint64_t value) {
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

}  // namespace interlock::inline v1::postgres_store
