// The function in docs/trainables.md (tools/test --check=pages compares them), with a model.

#include <stdlib.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trainer/function/function_runner.h"
#include "trainer/function/functions.h"
#include "trainer/function/named_values.h"
#include "trainer/function/reporter.h"
#include "trainer/function/training_progress.h"

namespace trainer {
namespace {

// Its loss falls by a fraction of `rate`; a checkpoint is a file with the epoch and the loss.
class Model {
 public:
  explicit Model(double rate) : rate_(rate) {}

  std::int64_t Load(const std::string& directory) {
    std::int64_t epoch = 0;
    std::ifstream(directory + "/model") >> epoch >> loss_;
    epoch_ = epoch;
    return epoch;
  }

  double TrainOnce() {
    ++epoch_;
    return loss_ *= 1 - rate_;
  }

  void Save(const std::string& directory) const {
    std::ofstream(directory + "/model") << epoch_ << " " << loss_;
  }

 private:
  const double rate_;
  std::int64_t epoch_ = 0;
  double loss_ = 1;
};

void Train(const NamedValues& config, Reporter& reporter) {
  const double rate = config.Number("rate", 0.1);
  Model model(rate);
  std::int64_t epoch = 0;
  if (const auto checkpoint = reporter.checkpoint()) epoch = model.Load(checkpoint->directory);
  while (++epoch <= config.Integer("epochs")) {
    const double loss = model.TrainOnce();
    reporter.SaveCheckpoint(epoch, [&](const std::string& directory) { model.Save(directory); });
    reporter.Report({{"epoch", epoch}, {"loss", loss}});
  }
}

TEST(TrainablesPageTest, ItsFunctionReportsAndGoesOnFromItsCheckpoint) {
  std::string made = absl::StrCat(::testing::TempDir(), "/page-XXXXXX");
  const std::string parent = mkdtemp(made.data());
  const std::string directory = parent + "/first";
  FunctionRunner runner(MakeFunction("train", Train),
                        {.trial = {"t-abcde", "first", directory}, .config = {{"epochs", 10}}});
  const absl::StatusOr<Result> result = runner.Step();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->reported.Integer("epoch"), 1);
  EXPECT_DOUBLE_EQ(result->reported.Number("loss"), 0.9);
  const absl::StatusOr<std::string> saved = runner.Save();
  ASSERT_TRUE(saved.ok()) << saved.status();

  FunctionRunner second(
      MakeFunction("train", Train),
      {.trial = {"t-fghij", "second", parent + "/second"}, .config = {{"epochs", 10}}});
  ASSERT_TRUE(second.Restore(*saved).ok());
  const absl::StatusOr<Result> next = second.Step();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->reported.Integer("epoch"), 2);
  EXPECT_DOUBLE_EQ(next->reported.Number("loss"), 0.81);
}

}  // namespace
}  // namespace trainer
