// SPDX-License-Identifier: MIT
#include <interlock/testing/conformance.hpp>

#include <atomic>
#include <string>

namespace interlock {
namespace {

std::unique_ptr<testing::harness> fresh_memory() {
  static std::atomic<unsigned> stores{0};
  return testing::harness_for("memory:conformance-" + std::to_string(++stores));
}

INTERLOCK_CONFORMANCE(memory, fresh_memory);

}  // namespace
}  // namespace interlock
