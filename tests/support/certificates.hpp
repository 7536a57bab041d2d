// SPDX-License-Identifier: MIT
#pragma once

#include "support/temporary_folder.hpp"

#include <filesystem>

namespace interlock::test_support {

/// What a server shows, or a client, and who has signed it; all PEM.
struct certificate {
  std::filesystem::path authority{};
  std::filesystem::path file{};
  std::filesystem::path key{};
};

/// Its file and its key, over those of another.
void copy_certificate(const certificate& from, const certificate& to);

/// Certificates for TLS between tests and servers, good ones and bad ones. Good for servers and clients alike.
class certificates {
 public:
  /// Made once per process, by the openssl command; a few tens of milliseconds.
  static const certificates& get();

  certificate good;        // for localhost and 127.0.0.1
  certificate expired;     // as good, but since yesterday no more
  certificate wrong_host;  // by the same authority, for elsewhere.invalid
  certificate stranger;    // for localhost, by an authority that nobody here trusts

 private:
  certificates();
  temporary_folder folder_;
};

}  // namespace interlock::test_support
