#ifndef DATAMANAGER_TENSORBOARD_PROVIDER_H_
#define DATAMANAGER_TENSORBOARD_PROVIDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "datamanager/catalog/run_catalog.h"
#include "datamanager/series/overlap_policy.h"
#include "datamanager/tensorboard/grpc_framing.h"

namespace datamanager::tensorboard {

// For each plugin the number of values of a series that the user wants; null: all of them.
using SampleCounts = std::map<std::string, std::optional<std::uint64_t>, std::less<>>;

// Answers the calls of TensorBoard's data provider (docs/tensorboard.md) from a catalog of runs. A
// list reports what is known now. A read waits, for a limited time, until the series of a run are
// complete, and returns the points read by then.
class Provider {
 public:
  struct Options {
    RunCatalog* catalog = nullptr;  // Not owned.
    std::string logdir = {};        // TensorBoard's spelling of it.
    Overlap overlap = Overlap::kLastWrite;
    SampleCounts samples = {};
    // Limits of how long a list waits for the first scan, and a read for all runs that it reads.
    absl::Duration list_patience = absl::Seconds(1);
    absl::Duration read_patience = absl::Seconds(25);
    // Limit of a message's bytes; TensorBoard accepts 256 MiB. Reduces the number of values per
    // series if necessary; an answer that is still too large becomes ResourceExhausted.
    std::uint64_t most_answer_bytes = 64'000'000;
  };
  // The cost of a call for the thread that answers it.
  enum class Effort : std::uint8_t {
    kNone,  // None: any thread may answer.
    kList,  // Waits for no file.
    kRead,  // Reads files, and waits for runs that are being read.
  };

  static std::unique_ptr<Provider> Create(Options options);
  virtual ~Provider() = default;

  // Returns the cost of a call with this path.
  static Effort EffortOf(std::string_view path);
  // Blocks; any thread, several concurrently.
  virtual GrpcAnswer Answer(std::string_view path, std::string_view message) = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_PROVIDER_H_
