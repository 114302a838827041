#include "datamanager/catalog/run_removal.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/file/trash.h"

namespace datamanager {
namespace {

constexpr std::size_t kMaxName = 200;  // Bytes of NAME; a file's name has at most 255.
constexpr std::size_t kIdSize = 8;
constexpr absl::Duration kQuiet = absl::Seconds(1);

// True if `path` is below `parent`, as "a/b" is below "a".
bool IsBelow(std::string_view path, std::string_view parent) {
  return path.size() > parent.size() && path.substr(0, parent.size()) == parent &&
         path[parent.size()] == '/';
}

// True if the run's name does not lead out of the run directory.
bool IsInside(const std::string& run) {
  if (run.empty() || run.find('\0') != std::string::npos) return false;
  const std::filesystem::path path(run);
  return path.is_relative() && std::none_of(path.begin(), path.end(), [](const auto& part) {
           return part.empty() || part == "." || part == "..";
         });
}

// Resolves the links in `directory`; returns it unchanged on an error.
std::string RealPath(const std::string& directory) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(directory, error);
  return error ? directory : real.string();
}

std::string NameInTrash(const RunRemovalRequest& request) {
  const std::size_t slash = request.run.rfind('/');
  std::string name = request.run.substr(slash == std::string::npos ? 0 : slash + 1);
  name.resize(std::min(name.size(), kMaxName));
  std::string id = request.request_id.substr(0, kIdSize);
  std::replace(id.begin(), id.end(), '/', '_');
  return absl::StrCat(name, "-", id);
}

absl::Status Refused(const std::string& run, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("run ", run, " stays: ", why));
}

absl::Status CheckRuns(const RunRemovalRequest& request, const RemovableRun& run,
                       const std::vector<RemovableRun>& runs, absl::Time now) {
  if (request.generation != 0 && request.generation != run.generation) {
    return Refused(run.name, absl::StrCat("it was replaced meanwhile; it has generation ",
                                          run.generation, ", not ", request.generation));
  }
  for (const RemovableRun& other : runs) {
    const bool is_below = IsBelow(other.name, run.name);
    if (is_below && !request.nested) {
      return Refused(run.name, absl::StrCat("there are runs below it, such as ", other.name,
                                            "; remove them first, or all together with nested"));
    }
    if ((is_below || other.name == run.name) &&
        absl::FromUnixMicros(other.update_us) > now - kQuiet) {
      return Refused(run.name, absl::StrCat(other.name == run.name ? "it" : other.name,
                                            " was written to within the last second; stop what "
                                            "writes it"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTrials(const RemovableRun& run, const std::vector<TrialPlace>& trials) {
  const std::string directory = RealPath(run.directory);
  for (const TrialPlace& trial : trials) {
    const std::string place = RealPath(trial.directory);
    if (place == directory) {
      return Refused(run.name, absl::StrCat("it is that of trial ", trial.id,
                                            ", which the trainer removes: yard rm ", trial.id));
    }
    if (IsBelow(place, directory)) {
      return Refused(
          run.name, absl::StrCat("trial ", trial.id, " is below it; yard rm ", trial.id, " first"));
    }
    if (IsBelow(directory, place) && !trial.has_ended) {
      return Refused(run.name, absl::StrCat("it is part of trial ", trial.id,
                                            ", which has not ended; yard stop ", trial.id));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> RemoveRun(const RunRemovalOptions& options,
                                      const RunRemovalRequest& request) {
  if (request.request_id.empty()) {
    return absl::InvalidArgumentError("the removal of a run needs a request id");
  }
  if (request.run == ".") return Refused(".", "it is the run directory itself");
  const std::string name = NameInTrash(request);
  if (IsInside(request.run)) {
    std::string place = runtime::PlaceInTrash(options.logdir, name);
    if (!place.empty()) return place;  // An earlier attempt of this request has moved it.
  }
  const auto runs = options.runs();
  if (!runs.ok()) return runs.status();
  const auto run = std::find_if(runs->begin(), runs->end(), [&](const RemovableRun& known) {
    return known.name == request.run;
  });
  if (run == runs->end()) return absl::NotFoundError(absl::StrCat("no run ", request.run));
  auto status = CheckRuns(request, *run, *runs, options.clock->Now());
  if (!status.ok()) return status;
  const auto trials = options.trials();
  if (!trials.ok() && !request.force) {
    return Refused(run->name, absl::StrCat("the trainer cannot be asked whose it is: ",
                                           trials.status().message(), "; force removes it still"));
  }
  if (trials.ok()) status = CheckTrials(*run, *trials);
  if (!status.ok()) return status;
  auto place = runtime::MoveToTrash(options.logdir, run->directory, name, options.clock->Now());
  if (place.ok() && place->empty()) return absl::NotFoundError(absl::StrCat("no run ", run->name));
  return place;
}

}  // namespace datamanager
