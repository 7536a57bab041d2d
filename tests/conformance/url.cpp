// SPDX-License-Identifier: MIT
#include <interlock/testing/conformance.hpp>

#include <cstdlib>

namespace interlock {
namespace {

// Any store at all: INTERLOCK_CONFORMANCE_URL=redis://localhost/7 conformance_tests --gtest_filter=*/given_url
[[maybe_unused]] const bool given = [] {
  const char* url = std::getenv("INTERLOCK_CONFORMANCE_URL");
  return url != nullptr && *url != '\0' &&
         testing::register_conformance("given_url", [url] { return testing::harness_for(url); });
}();

}  // namespace
}  // namespace interlock
