#ifndef DATAMANAGER_FAKE_RUN_SOURCE_H_
#define DATAMANAGER_FAKE_RUN_SOURCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "datamanager/brief_item.h"
#include "datamanager/run_reader.h"
#include "datamanager/run_source.h"
#include "eventlog/open_file_bound.h"

namespace datamanager {

// Runs in a directory, whose files are read when the test says so and not before. One thread.
class FakeRunSource : public RunSource {
 public:
  // A directory of its own, removed with this.
  FakeRunSource();
  ~FakeRunSource() override;

  // Appends to a file, "run/events.out.tfevents.1.x"; directories are made.
  void Append(const std::string& path, std::string_view bytes) const;
  const std::string& root() const { return root_; }

  // Lists the runs; those that are known and are still there stay as they are.
  void Scan();
  // Of runs that are found from now on.
  void set_step_bytes(std::uint64_t bytes) { step_bytes_ = bytes; }
  // Reads all that is there of the run; with its points, or only counts them.
  void Read(const std::string& run, Need need);
  // Its points are being loaded, and one step of that is done.
  void BeginToLoad(const std::string& run);
  // No file of the run can be read.
  void Break(const std::string& run, const absl::Status& why) { runs_.at(run).why = why; }
  // Gives the points of a run back.
  void Drop(const std::string& run) { runs_.at(run).reader->DropPoints(); }
  void Forget(const std::string& run) { runs_.erase(run); }
  BriefItem& item(const std::string& run) { return *runs_.at(run).item; }

  // Reads what was asked for in vain since the last time. False: nothing was.
  bool ReadWhatIsWanted();
  // Runs that were asked for in vain, whether they were read since or not.
  const std::vector<std::string>& wanted() const { return wanted_; }

  absl::StatusOr<std::vector<std::string>> Names() const override;
  absl::StatusOr<std::shared_ptr<BriefItem>> Brief(const std::string& run) const override;
  absl::Status Look(const Request& request, const Use& use) override;
  void WhenReady(const Request& request, std::function<void()> ready) override;
  eventlog::OpenFileBound* open_files() const override { return nullptr; }
  std::int64_t NowUs() const override { return 0; }

 private:
  struct Run {
    std::unique_ptr<RunReader> reader;
    std::shared_ptr<BriefItem> item;
    absl::Status why;
  };
  static bool IsThere(const Run& run, Need need);

  std::string root_;
  bool scanned_ = false;
  std::uint64_t step_bytes_ = RunReader::Options{}.step_bytes;
  std::map<std::string, Run> runs_;
  std::vector<Request> asked_;
  std::vector<std::string> wanted_;
  std::vector<std::pair<Request, std::function<void()>>> waiting_;
};

}  // namespace datamanager

#endif  // DATAMANAGER_FAKE_RUN_SOURCE_H_
