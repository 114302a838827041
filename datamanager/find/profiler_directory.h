#ifndef DATAMANAGER_FIND_PROFILER_DIRECTORY_H_
#define DATAMANAGER_FIND_PROFILER_DIRECTORY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace datamanager {

// On what a profile was taken by MindSpore; or a session of TensorBoard's profile plugin.
enum class ProfilerType : std::uint8_t { kAscend, kGpu, kCpu, kTensorBoard };

// True if a directory of that name may be one of MindSpore's profiler, so that its files are worth
// listing.
bool MayBeProfilerDirectory(std::string_view name);

// The type of the profile in a directory that may be a profiler's, by the names of the files
// directly in it; their content is never read. Nothing: the directory holds no profile. As
// MindInsight sees it: a file of one of the profiler's kinds must name a device, and of several
// types the first of the enumeration counts. A directory that holds one is a run, like one that
// holds a summary file; of several in one run the one that changed last is shown.
std::optional<ProfilerType> FindProfiler(std::span<const std::string> files);

// Whether a directory with this path is where a session of TensorBoard's profile plugin is, as
// TensorFlow, JAX and XLA write them: "RUN/plugins/profile/NAME". Its files ("HOST.xplane.pb") make
// it a profile of RUN, and no run.
bool IsProfilerSession(std::string_view path);

// "ascend", "gpu", "cpu", "tensorboard".
std::string_view ProfilerTypeName(ProfilerType type);

}  // namespace datamanager

#endif  // DATAMANAGER_FIND_PROFILER_DIRECTORY_H_
