#include "runtime/init.h"

#include <string>

#include "glog/logging.h"
#include "runtime/file.h"

namespace runtime {

absl::Status InitLogging(std::string_view name, const Locations& locations) {
  for (const std::string& directory : {locations.state_directory, locations.LogDirectory()}) {
    if (absl::Status made = MakePrivateDirectory(directory); !made.ok()) return made;
  }
  static auto* const kept = new std::string(name);
  FLAGS_log_dir = locations.LogDirectory();
  FLAGS_max_log_size = 32;
  FLAGS_logbuflevel = -1;
  FLAGS_stop_logging_if_full_disk = true;
  FLAGS_alsologtostderr = true;
  google::InitGoogleLogging(kept->c_str());
  return absl::OkStatus();
}

}  // namespace runtime
