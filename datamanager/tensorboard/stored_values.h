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

// Answers about values that are no scalars: their contents stand in the files and are read from
// there, without the run's lock. Any thread; blocks on the disk.
class StoredValues {
 public:
  struct Options {
    const RunAccess* access = nullptr;  // Not owned.
    Overlap overlap = Overlap::kLastWrite;
    // Most bytes of the values in an answer: each series has fewer values where that is needed, or
    // none.
    std::uint64_t most_bytes = std::uint64_t{60} << 20;
  };
  explicit StoredValues(Options options) : options_(options) {}

  // Adds the values of a run that `request` is about, `wanted` of each series, to the answer; the
  // run has begun there.
  void AddRun(const std::string& run, const SeriesRequest& request, eventlog::DataClass data_class,
              std::uint64_t wanted, absl::Duration deadline, SeriesMessage* answer) const;
  // Answers ReadBlob: messages of some MiB each.
  GrpcAnswer ReadBlob(std::string_view message) const;

 private:
  const Options options_;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_STORED_VALUES_H_
