#ifndef BUS_THREAD_CURVE_H_
#define BUS_THREAD_CURVE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace bus {

// CURVE keys of ZeroMQ, each as 64 hexadecimal digits. Any thread.
struct CurvePair {
  std::string public_key = {};
  std::string secret_key = {};  // Never printed, logged or passed in argv.
};

// The keys of one end of a connection.
struct CurveKeys {
  CurvePair own = {};
  // The key of the server that a client connects to; empty: this end is the server.
  std::string server_key = {};
};

// Makes a new random pair. Unimplemented if libzmq was built without CURVE.
absl::StatusOr<CurvePair> MakeCurvePair();

// True for 64 lower-case hexadecimal digits.
bool IsCurveKey(std::string_view text);

// Converts a key, for which IsCurveKey() is true, to the 32 bytes that socket options take.
std::string CurveKeyBytes(std::string_view key);
// Converts those bytes to a key.
std::string CurveKeyText(std::string_view bytes);

}  // namespace bus

#endif  // BUS_THREAD_CURVE_H_
