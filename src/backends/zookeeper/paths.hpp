// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace interlock::inline v1::zookeeper_store {

/// Where the locks of one client are: each name is one node right below the root, whatever its bytes.
///
/// Printable ASCII stands for itself, so that "orders" is the path another library would use. A slash, a percent sign,
/// everything else, and what ZooKeeper keeps for itself ("." and "zookeeper") is written %XX, so no name can reach out
/// of its node, into another's, or look like another.
class lock_root {
 public:
  /// `root` begins with a slash and does not end with one; empty: the top.
  explicit lock_root(std::string root) : root_(std::move(root)) {}

  [[nodiscard]] const std::string& path() const noexcept { return root_; }
  /// "/" where the root is the top.
  [[nodiscard]] std::string listed() const { return root_.empty() ? "/" : root_; }
  [[nodiscard]] std::string of(std::string_view name) const;
  /// The name whose node this is; nothing if no name has such a node.
  [[nodiscard]] std::optional<std::string> name_of(std::string_view child) const;

 private:
  [[nodiscard]] std::string encoded(std::string_view name) const;
  std::string root_;
};

}  // namespace interlock::inline v1::zookeeper_store
