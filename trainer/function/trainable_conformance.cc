#include "trainer/function/trainable_conformance.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/checkpoint_directory.h"
#include "trainer/function/training_progress.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::string NewDirectory() {
  std::string name = absl::StrCat(::testing::TempDir(), "/trainable-XXXXXX");
  return mkdtemp(name.data()) == nullptr ? "" : name + "/run";
}

std::vector<std::string> TemporariesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory, missing)) {
    std::string name = entry.path().filename().string();
    if (IsTemporaryName(name)) names.push_back(std::move(name));
  }
  return names;
}

// Takes a step, expects this count and iteration, and returns its result.
Result ExpectStep(Trainable& trainable, int count, int iteration) {
  auto result = trainable.Step();
  EXPECT_EQ(result.status(), absl::OkStatus());
  if (!result.ok()) return Result();
  EXPECT_EQ(result->Get("count"), Value(count));
  EXPECT_EQ(result->training_iteration, iteration);
  EXPECT_FALSE(result->done);
  EXPECT_FALSE(result->duplicate);
  return *std::move(result);
}

std::string ExpectSave(Trainable& trainable) {
  const auto path = trainable.Save();
  EXPECT_EQ(path.status(), absl::OkStatus());
  return path.value_or("");
}

void ExpectStop(Trainable& trainable, const std::string& directory) {
  EXPECT_EQ(trainable.Stop(), absl::OkStatus());
  EXPECT_EQ(TemporariesIn(directory), std::vector<std::string>());
}

void EndsWithADuplicate(const MakeTrainable& make) {
  SCOPED_TRACE("the end is a duplicate of the last result");
  const std::string directory = NewDirectory();
  const auto trainable = make(directory, 2);
  ExpectStep(*trainable, 1, 1);
  const Result last = ExpectStep(*trainable, 2, 2);
  const auto end = trainable->Step();
  ASSERT_EQ(end.status(), absl::OkStatus());
  EXPECT_TRUE(end->duplicate);
  EXPECT_TRUE(end->done);
  EXPECT_EQ(end->Get("done"), Value(true));
  EXPECT_EQ(end->Get("count"), Value(2));
  EXPECT_EQ(end->training_iteration, 2);
  EXPECT_EQ(end->time_total, last.time_total);
  EXPECT_EQ(trainable->Step().status().code(), absl::StatusCode::kOutOfRange);
  ExpectStop(*trainable, directory);
}

void FillsFields(const MakeTrainable& make) {
  SCOPED_TRACE("fields are filled in");
  const std::string directory = NewDirectory();
  const auto trainable = make(directory, 2);
  const Result first = ExpectStep(*trainable, 1, 1);
  const Result second = ExpectStep(*trainable, 2, 2);
  EXPECT_EQ(second.iterations_since_restore, 2);
  EXPECT_EQ(second.time_total, first.time_total + second.time_this_iter);
  for (const char* field : {"done", "training_iteration", "time_this_iter_s", "time_total_s",
                            "time_since_restore", "iterations_since_restore", "timestamp", "date",
                            "hostname", "pid", "trial_id", "experiment_id"}) {
    EXPECT_FALSE(second.Get(field).is_null()) << field;
  }
  EXPECT_EQ(first.Get("experiment_id"), second.Get("experiment_id"));
  ExpectStop(*trainable, directory);
}

void SavesNothingAsNull(const MakeTrainable& make) {
  SCOPED_TRACE("without a checkpoint, the null checkpoint is saved: a trial begins anew from it");
  const std::string directory = NewDirectory();
  const auto trainable = make(directory, 5);
  const std::string path = ExpectSave(*trainable);
  EXPECT_TRUE(IsNull(path)) << path;
  EXPECT_EQ(ExpectSave(*trainable), path);
  const auto other = make(NewDirectory(), 5);
  EXPECT_EQ(other->Restore(path), absl::OkStatus());
  ExpectStep(*other, 1, 1);
}

void GoesOnFromAPath(const MakeTrainable& make) {
  SCOPED_TRACE("save and restore by path");
  const std::string directory = NewDirectory(), elsewhere = NewDirectory();
  const auto trainable = make(directory, 5);
  ExpectStep(*trainable, 1, 1);
  const Result last = ExpectStep(*trainable, 2, 2);
  const std::string path = ExpectSave(*trainable);
  EXPECT_TRUE(path.starts_with(directory)) << path;
  EXPECT_FALSE(IsTemporary(path));
  EXPECT_EQ(VerifyCheckpoint(path), absl::OkStatus());
  ExpectStop(*trainable, directory);

  const auto other = make(elsewhere, 5);
  ASSERT_EQ(other->Restore(path), absl::OkStatus());
  fs::remove_all(directory);  // The trial restored from a copy of its own.
  const Result next = ExpectStep(*other, 3, 3);
  EXPECT_EQ(next.iterations_since_restore, 1);
  EXPECT_EQ(next.time_since_restore, next.time_this_iter);
  EXPECT_LE(absl::AbsDuration(next.time_total - last.time_total - next.time_this_iter),
            absl::Milliseconds(1));
  EXPECT_EQ(next.Get("experiment_id"), last.Get("experiment_id"));
  ExpectStop(*other, elsewhere);
}

void EndsWhereItWasRestored(const MakeTrainable& make) {
  SCOPED_TRACE("restored at the end it has nothing left to do: the duplicate has the counters");
  const std::string directory = NewDirectory();
  const auto trainable = make(directory, 2);
  ExpectStep(*trainable, 1, 1);
  const Result last = ExpectStep(*trainable, 2, 2);
  const std::string path = ExpectSave(*trainable);
  const auto other = make(NewDirectory(), 2);
  ASSERT_EQ(other->Restore(path), absl::OkStatus());
  const auto end = other->Step();
  ASSERT_EQ(end.status(), absl::OkStatus());
  EXPECT_TRUE(end->duplicate);
  EXPECT_TRUE(end->done);
  EXPECT_EQ(end->training_iteration, 2);
  EXPECT_LE(absl::AbsDuration(end->time_total - last.time_total), absl::Milliseconds(1));
}

void GoesOnFromAnObject(const MakeTrainable& make) {
  SCOPED_TRACE("save and restore by object, round by round");
  std::optional<std::string> object;
  for (int round = 0; round < 3; ++round) {
    const std::string directory = NewDirectory();
    const auto trainable = make(directory, 100);
    if (object) {
      ASSERT_EQ(trainable->RestoreFromObject(*object), absl::OkStatus());
    }
    ExpectStep(*trainable, 2 * round + 1, 2 * round + 1);
    ExpectStep(*trainable, 2 * round + 2, 2 * round + 2);
    auto saved = trainable->SaveToObject();
    ASSERT_EQ(saved.status(), absl::OkStatus());
    object = *std::move(saved);
    ExpectStop(*trainable, directory);
    fs::remove_all(directory);
  }
}

void SavesWhatItRestored(const MakeTrainable& make) {
  SCOPED_TRACE("what was restored and not trained on is saved again, never as a temporary one");
  const std::string directory = NewDirectory(), elsewhere = NewDirectory();
  const auto trainable = make(directory, 5);
  ExpectStep(*trainable, 1, 1);
  const auto object = trainable->SaveToObject();
  ASSERT_EQ(object.status(), absl::OkStatus());
  const auto other = make(elsewhere, 5);
  ASSERT_EQ(other->RestoreFromObject(*object), absl::OkStatus());
  const std::string path = ExpectSave(*other);
  EXPECT_TRUE(path.starts_with(elsewhere)) << path;
  EXPECT_FALSE(IsTemporary(path)) << path;
  EXPECT_EQ(VerifyCheckpoint(path), absl::OkStatus());
  EXPECT_EQ(ExpectSave(*other), path);
  ExpectStop(*other, elsewhere);
  const auto third = make(NewDirectory(), 5);
  ASSERT_EQ(third->Restore(path), absl::OkStatus());
  ExpectStep(*third, 2, 2);
}

void RefusesWhatIsNoCheckpoint(const MakeTrainable& make) {
  SCOPED_TRACE("what is no whole checkpoint is refused, and nothing changes");
  const std::string directory = NewDirectory(), elsewhere = NewDirectory();
  const auto source = make(directory, 5);
  for (int count = 1; count <= 3; ++count) ExpectStep(*source, count, count);
  const auto object = source->SaveToObject();
  ASSERT_EQ(object.status(), absl::OkStatus());
  const std::string path = ExpectSave(*source);
  ExpectStop(*source, directory);
  for (const auto& entry : fs::directory_iterator(path)) {
    // Damages one byte of the content.
    if (entry.path().filename().string().starts_with('.')) continue;
    std::ofstream(entry.path(), std::ios::in | std::ios::out).put('\1');
  }
  std::string flipped = *object;
  flipped[flipped.size() / 2] ^= 1;

  const auto trainable = make(elsewhere, 5);
  ExpectStep(*trainable, 1, 1);
  EXPECT_EQ(trainable->Restore(directory + "/none").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(trainable->Restore("/").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(trainable->Restore(path).code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(trainable->RestoreFromObject("").ok());
  EXPECT_EQ(trainable->RestoreFromObject(flipped).code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(trainable->RestoreFromObject(object->substr(0, object->size() - 5)).ok());
  const Result next = ExpectStep(*trainable, 2, 2);
  EXPECT_EQ(next.iterations_since_restore, 2);
  ExpectStop(*trainable, elsewhere);
}

void ExecutesBetweenSteps(const MakeTrainable& make) {
  SCOPED_TRACE("a function is executed between steps");
  const auto trainable = make(NewDirectory(), 5);
  ExpectStep(*trainable, 1, 1);
  std::string saved;
  EXPECT_EQ(trainable->Execute([&](Trainable& self) {
    EXPECT_EQ(&self, trainable.get());
    saved = ExpectSave(self);
    return absl::OkStatus();
  }),
            absl::OkStatus());
  EXPECT_EQ(VerifyCheckpoint(saved), absl::OkStatus());
  EXPECT_EQ(trainable->Execute([](Trainable&) { return absl::AbortedError("no"); }),
            absl::AbortedError("no"));
  ExpectStep(*trainable, 2, 2);
}

void IsOverAfterStop(const MakeTrainable& make) {
  SCOPED_TRACE("after Stop() all is refused");
  const std::string directory = NewDirectory();
  const auto trainable = make(directory, 5);
  ExpectStep(*trainable, 1, 1);
  const auto object = trainable->SaveToObject();
  const std::string path = ExpectSave(*trainable);
  ExpectStop(*trainable, directory);
  EXPECT_EQ(trainable->Stop(), absl::OkStatus());
  constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
  EXPECT_EQ(trainable->Step().status().code(), kRefused);
  EXPECT_EQ(trainable->Save().status().code(), kRefused);
  EXPECT_EQ(trainable->Restore(path).code(), kRefused);
  EXPECT_EQ(trainable->SaveToObject().status().code(), kRefused);
  EXPECT_EQ(trainable->RestoreFromObject(object.value_or("")).code(), kRefused);
  EXPECT_EQ(trainable->Execute([](Trainable&) { return absl::OkStatus(); }).code(), kRefused);
  EXPECT_EQ(VerifyCheckpoint(path), absl::OkStatus()) << "what was saved stays";
  // A trainable that never started can be stopped too.
  EXPECT_EQ(make(NewDirectory(), 5)->Stop(), absl::OkStatus());
}

}  // namespace

void ExpectConformingTrainable(const MakeTrainable& make) {
  EndsWithADuplicate(make);
  FillsFields(make);
  SavesNothingAsNull(make);
  GoesOnFromAPath(make);
  EndsWhereItWasRestored(make);
  GoesOnFromAnObject(make);
  SavesWhatItRestored(make);
  RefusesWhatIsNoCheckpoint(make);
  ExecutesBetweenSteps(make);
  IsOverAfterStop(make);
}

}  // namespace trainer
