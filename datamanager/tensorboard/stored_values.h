#ifndef DATAMANAGER_TENSORBOARD_STORED_VALUES_H_
#define DATAMANAGER_TENSORBOARD_STORED_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/tensorboard/grpc_framing.h"
#include "datamanager/tensorboard/provider_messages.h"
#include "datamanager/tensorboard/run_access.h"
#include "eventlog/event.h"

namespace datamanager::tensorboard {

// Answers calls about values other than scalars: reads their contents from the files, without the
// run's lock. Any thread; blocks on the disk.
class StoredValues {
 public:
  struct Options {
    const RunAccess* access = nullptr;  // Not owned.
    Overlap overlap = Overlap::kLastWrite;
    // Limit of an answer's bytes: reduces the number of values per series if necessary, perhaps to
    // none.
    std::uint64_t most_bytes = std::uint64_t{60} << 20;
  };
  explicit StoredValues(Options options) : options_(options) {}

  // Adds the requested values of a run, `wanted` of each series, to the answer, in which the run
  // must have begun.
  void AddRun(const std::string& run, const SeriesRequest& request, eventlog::DataClass data_class,
              std::uint64_t wanted, absl::Duration deadline, SeriesMessage* answer) const;
  // Answers ReadBlob with messages of some MiB each.
  GrpcAnswer ReadBlob(std::string_view message) const;

 private:
  const Options options_;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_STORED_VALUES_H_
