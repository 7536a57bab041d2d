// SPDX-License-Identifier: MIT
#pragma once

#include "cli/demo_stage.hpp"
#include "cli/demo_troupe.hpp"

#include <string>

namespace interlock::cli::demo {

/// What every act needs.
struct scene {
  stage& out;
  const workshop& place;
  const std::string& program;
};

/// Each act explains itself, shows what happens and ends with a verdict; true if what it shows did happen.
bool act_without_lock(const scene& in);
bool act_with_lock(const scene& in);
bool act_killed_holder(const scene& in);
bool act_frozen_holder(const scene& in);
bool act_readers_and_writer(const scene& in);

}  // namespace interlock::cli::demo
