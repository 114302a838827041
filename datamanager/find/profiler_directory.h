#ifndef DATAMANAGER_FIND_PROFILER_DIRECTORY_H_
#define DATAMANAGER_FIND_PROFILER_DIRECTORY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace datamanager {

// The device of MindSpore's profile; or a session of TensorBoard's profile plugin.
enum class ProfilerType : std::uint8_t { kAscend, kGpu, kCpu, kTensorBoard };

// True if a directory of that name may be MindSpore's profiler directory, so that its files must be
// listed.
bool MayBeProfilerDirectory(std::string_view name);

// Determines the type of a profile from the names of the files directly in a directory that may be
// a profiler's; file contents are never read. Null if the directory has no profile. Follows
// MindInsight: a profiler's file must name a device, and of several types the first in the
// enumeration counts. A directory with a profile is a run, like one with a summary file; of several
// profiles in one run the last changed is shown.
std::optional<ProfilerType> FindProfiler(std::span<const std::string> files);

// True if a directory with this path contains a session of TensorBoard's profile plugin, as
// TensorFlow, JAX and XLA write them: "RUN/plugins/profile/NAME". Its files ("HOST.xplane.pb") make
// it a profile of RUN, not a run.
bool IsProfilerSession(std::string_view path);

// Returns "ascend", "gpu", "cpu" or "tensorboard".
std::string_view ProfilerTypeName(ProfilerType type);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_PROFILER_DIRECTORY_H_
