// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

/// The definition of a store, as a test suite. Whoever teaches interlock a new store registers it here, in a program
/// that links interlock::testing and GoogleTest's main:
///
///     INTERLOCK_CONFORMANCE(my_store, [] { return interlock::testing::harness_for("mystore://localhost/7"); });
///
/// What traits() promises is tested; what it does not promise must be refused, and that is tested too. A test is called
/// `suite.what_must_hold/my_store`.
///
/// Leases that must run out are 300 ms where the store can do that. On a machine that stands still for longer than that
/// now and then, INTERLOCK_TEST_PACE=4 in the environment makes them four times as long.
namespace interlock::inline v1::testing {

/// One store for the length of one test. Tests clean up behind themselves, but a harness that can give each test a
/// store of its own makes failures easier to read.
class harness {
 public:
  virtual ~harness() = default;

  /// Where clients connect: the same store each time it is asked. The suite puts a link it can break in front.
  [[nodiscard]] virtual std::string url() const = 0;
  /// Asks the store itself, behind interlock's back, whether anybody holds the name. Nothing: the suite asks through a
  /// connection of its own.
  [[nodiscard]] virtual std::optional<bool> peek(std::string_view name);
  /// Removes the holders' records behind everybody's back, as an administrator would. false: the suite does it through
  /// a connection of its own.
  virtual bool steal(std::string_view name);
};
using harness_factory = std::function<std::unique_ptr<harness>()>;

/// The harness of a store that is reached by its URL alone.
std::unique_ptr<harness> harness_for(std::string url);

/// Call it before GoogleTest is initialised; `store` is letters, digits and underscores, once per program.
bool register_conformance(std::string_view store, harness_factory make);

}  // namespace interlock::inline v1::testing

#define INTERLOCK_CONFORMANCE(store, ...)                            \
  [[maybe_unused]] static const bool interlock_conformance_##store = \
      ::interlock::testing::register_conformance(#store, __VA_ARGS__)
