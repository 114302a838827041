#ifndef LAUNCHER_WANTED_SERVICES_H_
#define LAUNCHER_WANTED_SERVICES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace launcher {

// The content of the file STATE/wanted, which `yard up` writes atomically, as a JSON object:
// {"logdir": "/abs", "trainer": "/abs" or absent, "slots": a number or absent, "datamanager": a
// list of "name=value", its flags, or absent, "flags": for each service a list of further flags, or
// absent}.
struct WantedServices {
  std::string logdir;
  std::string trainer;      // Path of the trainer's program; empty for the default one.
  std::uint64_t slots = 0;  // For trials; 0 leaves the choice to the trainer.
  // Flags by service, without their dashes.
  std::map<std::string, std::vector<std::string>> flags = {};
};

// Reads the file. Returns nullopt if it is missing, or (with an error in the log) if it names no
// run directory. Blocks on the disk.
std::optional<WantedServices> ReadWantedServices(const std::string& path);

}  // namespace launcher

#endif  // LAUNCHER_WANTED_SERVICES_H_
