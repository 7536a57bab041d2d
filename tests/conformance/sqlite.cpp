// SPDX-License-Identifier: MIT
#ifdef INTERLOCK_WITH_SQLITE

#include "support/sqlite_file.hpp"

#include <interlock/testing/conformance.hpp>

namespace interlock {
namespace {

class sqlite_harness final : public testing::harness {
 public:
  std::string url() const override { return file_.url(); }
  std::optional<bool> peek(std::string_view name) override { return file_.somebody_holds(name); }
  bool steal(std::string_view name) override {
    file_.remove_holders(name);
    return true;
  }

 private:
  test_support::sqlite_file file_;
};

INTERLOCK_CONFORMANCE(sqlite, [] { return std::make_unique<sqlite_harness>(); });

}  // namespace
}  // namespace interlock

#endif
