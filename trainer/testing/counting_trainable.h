#ifndef TRAINER_TESTING_COUNTING_TRAINABLE_H_
#define TRAINER_TESTING_COUNTING_TRAINABLE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/checkpoint/checkpoint_object.h"
#include "trainer/function/named_values.h"
#include "trainer/function/trainable.h"
#include "trainer/function/training_progress.h"

namespace trainer {

// A trainable without a thread, like a class of Ray Tune's: its state is a number that it counts up
// to `last`. Serves to test drivers of trainables.
class CountingTrainable : public Trainable {
 public:
  CountingTrainable(std::string directory, int last)
      : directory_(std::move(directory)), last_count_(last), progress_({"t-count", "e", "h", 1}) {}

  absl::StatusOr<Result> Step() override {
    if (stopped_) return Stopped();
    if (count_ == last_count_ && ended_) return absl::OutOfRangeError("the end");
    if (count_ == last_count_) {
      ended_ = true;
      return progress_.Duplicate(last_, absl::Now());
    }
    ++count_;
    last_ = progress_.Count({{"count", count_}}, absl::Seconds(1), absl::Now());
    last_->should_checkpoint = true;
    return *last_;
  }

  absl::StatusOr<std::string> Save() override {
    if (stopped_) return Stopped();
    CheckpointMetadata metadata = progress_.Metadata();
    if (count_ == 0) return MakeNullCheckpoint(directory_, metadata.experiment_id);
    const auto temporary = MakeTemporaryCheckpoint(directory_);
    if (!temporary.ok()) return temporary.status();
    metadata.saved_as_dict = true;
    auto status = WriteDictionary(*temporary, NamedValues{{"count", count_}}.ToJson());
    const std::string name = CheckpointName(metadata.iteration);
    if (status.ok()) status = CommitCheckpoint(*temporary, name, metadata).status();
    if (!status.ok()) return status;
    return absl::StrCat(directory_, "/", name);
  }

  absl::Status Restore(const std::string& path) override {
    if (stopped_) return Stopped();
    const auto directory = FindCheckpointDirectory(path);
    if (!directory.ok()) return directory.status();
    if (auto verified = VerifyCheckpoint(*directory); !verified.ok()) return verified;
    return Load(*directory);
  }

  absl::StatusOr<std::string> SaveToObject() override {
    const auto path = Save();
    return path.ok() ? CheckpointToObject(*path) : path;
  }

  absl::Status RestoreFromObject(std::string_view object) override {
    if (stopped_) return Stopped();
    const auto path = CheckpointFromObject(object, directory_);
    if (!path.ok()) return path.status();
    const auto loaded = Load(*path);
    const auto removed = RemoveCheckpoint(*path);
    return loaded.ok() ? removed : loaded;
  }

  absl::Status Execute(const std::function<absl::Status(Trainable&)>& function) override {
    return stopped_ ? Stopped() : function(*this);
  }

  absl::Status Stop() override {
    stopped_ = true;
    return absl::OkStatus();
  }

 private:
  static absl::Status Stopped() { return absl::FailedPreconditionError("it was stopped"); }

  absl::Status Load(const std::string& directory) {
    const auto metadata = ReadMetadata(directory);
    if (!metadata.ok()) return metadata.status();
    count_ = 0;
    if (!IsNull(directory)) {
      const auto json = ReadDictionary(directory);
      if (!json.ok()) return json.status();
      const auto state = NamedValues::FromJson(*json);
      if (!state.ok()) return state.status();
      count_ = static_cast<int>(state->Integer("count", 0));
    }
    progress_.Restore(*metadata);
    last_.reset();
    return absl::OkStatus();
  }

  const std::string directory_;
  const int last_count_;
  int count_ = 0;
  bool ended_ = false;
  bool stopped_ = false;
  TrainingProgress progress_;
  std::optional<Result> last_;
};

}  // namespace trainer

#endif  // TRAINER_TESTING_COUNTING_TRAINABLE_H_
