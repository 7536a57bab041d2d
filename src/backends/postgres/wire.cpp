// SPDX-License-Identifier: MIT
#include "backends/postgres/wire.hpp"

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
      put_element(columns_[9], write_origin(*about.origin));
    else
      put_element(columns_[9], makes ? origin : std::string_view{});
  }
  columns_[10] = channel;
  for (std::size_t i = 0; i < count; ++i) {
    values_[i] = columns_[i].data();
    lengths_[i] = static_cast<int>(columns_[i].size());
  }
}

std::int64_t binary_integer(const PGresult* rows, int row, int column) noexcept {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(PQgetvalue(rows, row, column));
  const int size = PQgetlength(rows, row, column);
  std::uint64_t out = size > 0 && bytes[0] >= 0x80 ? ~std::uint64_t{0} : 0;
  for (int i = 0; i < size; ++i) out = out << 8 | bytes[i];
  return static_cast<std::int64_t>(out);
}

bool binary_boolean(const PGresult* rows, int row, int column) noexcept {
  return PQgetlength(rows, row, column) == 1 && *PQgetvalue(rows, row, column) != 0;
}

std::string_view binary_bytes(const PGresult* rows, int row, int column) noexcept {
  return {PQgetvalue(rows, row, column), static_cast<std::size_t>(PQgetlength(rows, row, column))};
}

sql::reply read_reply(const PGresult* rows, int row) noexcept {
  sql::reply out;
  out.is = static_cast<sql::reply::word>(binary_integer(rows, row, 0));
  out.shared = binary_boolean(rows, row, 1);
  out.token = binary_integer(rows, row, 2);
  out.tokens = binary_integer(rows, row, 3);
  out.ahead = binary_integer(rows, row, 4);
  out.behind = binary_integer(rows, row, 5);
  out.again = binary_integer(rows, row, 6);
  out.seq = binary_integer(rows, row, 7);
  return out;
}

std::string write_origin(const claim_origin& from) {
  return std::to_string(from.pid) + '\n' + from.host + '\n' + from.program + '\n' + from.purpose;
}

claim_origin read_origin(std::string_view text) {
  claim_origin out;
  const auto line = [&] {
    const auto end = text.find('\n');
    const auto one = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    return one;
  };
  const auto pid = line();
  std::from_chars(pid.data(), pid.data() + pid.size(), out.pid);
  out.host = line();
  out.program = line();
  out.purpose = text;  // whatever it contains
  return out;
}

}  // namespace interlock::inline v1::postgres_store
