// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace interlock::test_support {

/// A server's first data, which take seconds to make, are made once for all tests of a build, and copied from then on.
/// `name` tells them from those of other programs and versions; `make` makes them at `to`.
void have_data(const std::string& name, const std::filesystem::path& to, const std::function<void()>& make);

}  // namespace interlock::test_support
