// SPDX-License-Identifier: MIT
#include "support/redis_native_book.hpp"

#include <cstdint>

namespace interlock::test_support {
namespace {

double number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out |= std::uint64_t{static_cast<unsigned char>(bytes.at(at + i))} << (8 * i);
  return static_cast<double>(out);
}

}  // namespace

redis_native_book::redis_native_book(const redis_server& server, std::string_view name)
    : server_(server), base_("ilk1:{" + std::string(name) + "}:") {
  // The little of the encoding that the suite's names need.
  for (auto at = base_.find('%'); at != base_.npos; at = base_.find('%', at + 3)) base_.replace(at, 1, "%25");
}

std::string redis_native_book::key(char which) const { return base_ + which; }

double redis_native_book::now() const {
  const auto time = server_.command({"TIME"});
  return std::stod(time[0].text) * 1e6 + std::stod(time[1].text);
}

std::vector<std::string> redis_native_book::holders() const {
  const auto book = server_.command({"GET", key('b')});
  if (book.nil() || book.text.size() < 25) return {};
  std::vector<std::string> out;
  if (book.text[0] == 's') {
    if (number_at(book.text, 17) >= now()) out.emplace_back();
  }
  if (book.text[0] != 'f') return out;
  const auto claims = server_.command({"HGETALL", key('c')});
  for (std::size_t i = 0; i + 1 < claims.size(); i += 2) {
    const auto& record = claims[i + 1].text;
    const bool heir = book.text.at(61) == 3 && book.text.compare(62, 16, claims[i].text) == 0;
    if ((heir || (record.at(0) >= 2 && record.at(0) <= 4)) && number_at(record, 9) >= now())
      out.push_back(claims[i].text);
  }
  return out;
}

void redis_native_book::remove_holders() const {
  for (const auto& id : holders()) {
    if (id.empty()) {
      server_.command({"DEL", key('b')});
      continue;
    }
    server_.command({"HDEL", key('c'), id});
  }
}

std::string redis_native_book::keys() const {
  std::string out;
  for (const char which : {'b', 'c', 'l'})
    if (server_.command({"EXISTS", key(which)}) == 1) out += which;
  return out;
}

}  // namespace interlock::test_support
