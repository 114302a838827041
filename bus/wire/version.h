#ifndef BUS_WIRE_VERSION_H_
#define BUS_WIRE_VERSION_H_

#include <string>
#include <string_view>

namespace bus {

// Version of this project; every service reports it in its lease and in Stats.
inline constexpr std::string_view kVersion = "0.1";

// A library's version as "MAJOR.MINOR.PATCH": of the headers with which this program was compiled,
// and of the library that it runs with.
struct LibraryVersion {
  std::string name;
  std::string compiled;
  std::string running;
};
LibraryVersion ZeroMqVersion();

}  // namespace bus

#endif  // BUS_WIRE_VERSION_H_
