// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// ZooKeeper's way to write numbers and texts: big-endian, every text after its length.
namespace interlock::inline v1::zookeeper_store {

void put_number(std::string& to, std::int32_t value);
void put_big(std::string& to, std::int64_t value);
void put_flag(std::string& to, bool value);
void put_text(std::string& to, std::string_view value);

/// What a server knows of a node besides its data.
struct node_stat {
  std::int64_t czxid = 0;  ///< the change that made it
  std::int64_t mzxid = 0;  ///< the change that last set its data
  std::int64_t ctime = 0;  ///< when it was made, ms since 1970 by the server's clock
  std::int32_t version = 0;
  std::int64_t owner = 0;  ///< the session it dies with; 0: none
  std::int32_t children = 0;
};

/// Reads what a server sent. Past the end, or at nonsense, everything is zero and `ok` turns false: a hostile server
/// costs an answer, never memory.
class reader {
 public:
  reader() = default;
  explicit reader(std::string_view from) noexcept : rest_(from) {}

  std::int32_t number() noexcept;
  std::int64_t big() noexcept;
  bool flag() noexcept;
  std::string_view text() noexcept;
  std::vector<std::string_view> texts();
  node_stat stat() noexcept;
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

 private:
  std::string_view take(std::size_t size) noexcept;
  std::string_view rest_{};
  bool ok_ = true;
};

}  // namespace interlock::inline v1::zookeeper_store
