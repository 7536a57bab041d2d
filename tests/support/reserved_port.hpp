// SPDX-License-Identifier: MIT
#pragma once

namespace interlock::test_support {

/// A TCP port of 127.0.0.1 that belongs to one test on this host until this object is gone, whether something listens
/// on it or not. So a server can be killed and come back on it.
class reserved_port {
 public:
  reserved_port();
  reserved_port(reserved_port&& other) noexcept;
  reserved_port& operator=(reserved_port&& other) noexcept;
  ~reserved_port();

  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_ = 0;
  int claim_ = -1;
};

}  // namespace interlock::test_support
