// SPDX-License-Identifier: MIT
#pragma once

#include "support/redis_server.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace interlock::test_support {

/// One name of interlock's own Redis layout, read and robbed with the server's own commands. Names of plain letters,
/// digits and punctuation only.
class redis_native_book {
 public:
  redis_native_book(const redis_server& server, std::string_view name);

  [[nodiscard]] bool somebody_holds() const { return !holders().empty(); }
  /// As an administrator would, who knows nothing of scripts.
  void remove_holders() const;
  /// Which of its keys exist: of "bcl".
  [[nodiscard]] std::string keys() const;
  [[nodiscard]] std::string key(char which) const;

 private:
  /// Their ids; of one who is alone the id is not said.
  [[nodiscard]] std::vector<std::string> holders() const;
  [[nodiscard]] double now() const;

  const redis_server& server_;
  std::string base_;
};

}  // namespace interlock::test_support
