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

// For each plugin how many values of a series its user wants; nothing: all of them.
using SampleCounts = std::map<std::string, std::optional<std::uint64_t>, std::less<>>;

// Answers the calls of TensorBoard's data provider (docs/tensorboard.md) from a catalog of runs.
// A list says what is known by now; a read waits for the whole of a run's series, but for a bounded
// time, and returns the points read by then.
class Provider {
 public:
  struct Options {
    RunCatalog* catalog = nullptr;  // Not owned.
    std::string logdir = {};        // As TensorBoard has it.
    Overlap overlap = Overlap::kLastWrite;
    SampleCounts samples = {};
    // A list waits at most so long for the first scan, a read for all the runs that it reads.
    absl::Duration list_patience = absl::Seconds(1);
    absl::Duration read_patience = absl::Seconds(25);
    // Most bytes of a message; TensorBoard takes 256 MiB. Each series has fewer values where that
    // is needed; an answer that is too large all the same is ResourceExhausted.
    std::uint64_t most_answer_bytes = 64'000'000;
  };
  // The cost of a call for the thread that answers it.
  enum class Effort : std::uint8_t {
    kNone,  // Nothing: on any thread.
    kList,  // Waits for no file.
    kRead,  // Reads files, and waits for runs that are being read.
  };

  static std::unique_ptr<Provider> Create(Options options);
  virtual ~Provider() = default;

  // The cost of a call with this path.
  static Effort EffortOf(std::string_view path);
  // Blocks; any thread, several at once.
  virtual GrpcAnswer Answer(std::string_view path, std::string_view message) = 0;
};

}  // namespace datamanager::tensorboard

#endif  // DATAMANAGER_TENSORBOARD_PROVIDER_H_
