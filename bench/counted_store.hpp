// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace bench {

/// Makes `counted-X:` URLs known: store X, with every request to it counted.
void register_counted_stores();
/// enter, look, leave and the others, of all counted clients of this process so far.
std::uint64_t requests_to_counted_stores();

}  // namespace bench
