// SPDX-License-Identifier: MIT
#include "support/certificates.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace interlock::test_support {
namespace {

constexpr auto commands = R"sh(
set -e
curve="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
authority() { # NAME
  openssl req -x509 $curve -keyout "$1.key" -out "$1.pem" -days 30 -subj "/CN=interlock test $1"
}
leaf() { # NAME AUTHORITY NAMES DAYS
  openssl req $curve -keyout "$1.key" -out "$1.request" -subj "/CN=$1"
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$3" >"$1.extensions"
  openssl x509 -req -in "$1.request" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days "$4" \
    -extfile "$1.extensions" -out "$1.pem"
}
here=DNS:localhost,IP:127.0.0.1
authority authority
authority stranger_authority
leaf good authority "$here" 30
leaf expired authority "$here" -1
leaf wrong_host authority DNS:elsewhere.invalid 30
leaf stranger stranger_authority "$here" 30
)sh";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file).rdbuf();
  return out.str();
}

}  // namespace

void copy_certificate(const certificate& from, const certificate& to) {
  constexpr auto over = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(from.file, to.file, over);
  std::filesystem::copy_file(from.key, to.key, over);
}

certificates::certificates() : folder_("certificates") {
  const auto& folder = folder_.path();
  std::ofstream(folder / "make.sh") << commands;
  const auto line = "cd '" + folder.string() + "' && sh make.sh >log 2>&1 </dev/null";
  if (std::system(line.c_str()) != 0) {
    throw std::runtime_error("openssl made no certificates; ./dev test installs it if it is missing:\n" +
                             text_of(folder / "log"));
  }
  const auto one = [&](const std::string& name, const std::string& authority) {
    return certificate{folder / (authority + ".pem"), folder / (name + ".pem"), folder / (name + ".key")};
  };
  good = one("good", "authority");
  expired = one("expired", "authority");
  wrong_host = one("wrong_host", "authority");
  stranger = one("stranger", "stranger_authority");
}

const certificates& certificates::get() {
  static const certificates made;
  return made;
}

}  // namespace interlock::test_support
