#include "bus/thread/curve.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <zmq.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/string_view.h"

namespace bus {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kZ85Characters = 41;  // Including the final NUL.

std::string FromZ85(const char* text) {
  std::array<std::uint8_t, kKeyBytes> bytes{};
  zmq_z85_decode(bytes.data(), text);
  return CurveKeyText({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

absl::StatusOr<CurvePair> MakeCurvePair() {
  std::array<char, kZ85Characters> public_key{}, secret_key{};
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) {
    return absl::UnimplementedError(absl::StrCat("making a CURVE key: ", zmq_strerror(zmq_errno()),
                                                 "; install a libzmq with CURVE"));
  }
  return CurvePair{FromZ85(public_key.data()), FromZ85(secret_key.data())};
}

bool IsCurveKey(std::string_view text) {
  return text.size() == 2 * kKeyBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string CurveKeyBytes(std::string_view key) {
  return absl::HexStringToBytes(runtime::Absl(key));
}

std::string CurveKeyText(std::string_view bytes) {
  return absl::BytesToHexString(runtime::Absl(bytes));
}

}  // namespace bus
