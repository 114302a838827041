#include "trainer/sweep/sweep_questions.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/fake_clock.h"
#include "trainer/store/sweep_rows.h"
#include "trainer/store/trial_store.h"
#include "trainer/sweep/sweep_plan.h"
#include "trainer/testing/loop_thread.h"
#include "tuning/engine/engine.h"

namespace trainer {
namespace {

using ::testing::ElementsAre;

constexpr char kPlan[] =
    R"({"method":"random","metric":{"name":"loss"},"run_cap":4,"parallel":2,"seed":3,)"
    R"("parameters":{"x":{"min":0.0,"max":1.0}}})";

class SweepQuestionsTest : public testing::Test {
 protected:
  SweepQuestionsTest() : loop_(&clock_), engine_(Begun()) {
    char name[] = "/tmp/sq-XXXXXX";
    directory_ = mkdtemp(name);
    store_ = TrialStore::Open(directory_ + "/trainer.db").value();
    sweep_.id = sweep_.name = "s-1";
    sweep_.request_id = "request";
    sweep_.number = store_->InsertSweep(sweep_, {}).value();
    Restart();
  }
  ~SweepQuestionsTest() override {
    loop_.Stop();
    questions_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  static tuning::Engine Begun() {
    auto engine = tuning::Engine::Create(ReadSweepPlan(kPlan)->plan).value();
    engine.Apply({.kind = tuning::EngineEvent::Kind::kBegin});
    return engine;
  }
  // Starts another trainer, which knows what was stored.
  void Restart() {
    loop_.Call([this] {
      works_.clear();
      questions_ = std::make_unique<SweepQuestions>(SweepQuestions::Options{
          .loop = loop_.loop(),
          .store = store_.get(),
          .background = [this](std::function<void()> work) { works_.push_back(std::move(work)); },
          .answered =
              [this](const std::string& sweep, const tuning::Question& question,
                     const std::optional<tuning::Config>& config) {
                answers_.push_back(absl::StrCat(sweep, " ", question.number,
                                                config ? " suggested" : " exhausted"));
              }});
    });
    EXPECT_TRUE(store_
                    ->ForEachSweep([this](SweepRecord record) {
                      sweep_ = std::move(record);
                      return absl::OkStatus();
                    })
                    .ok());
  }
  tuning::Question QuestionOf(std::uint64_t number) {
    tuning::Question question = engine_.OpenQuestion().value();
    question.number = number;
    return question;
  }
  absl::Status Ask(std::uint64_t number) {
    absl::Status asked;
    loop_.Call([&] { asked = questions_->Ask(sweep_, QuestionOf(number)); });
    return asked;
  }
  void Work() {
    for (const auto& work : std::exchange(works_, {})) work();
    loop_.Settle();
  }

  runtime::FakeClock clock_;
  LoopThread loop_;
  tuning::Engine engine_;
  std::string directory_;
  std::unique_ptr<TrialStore> store_;
  SweepRecord sweep_;
  std::vector<std::function<void()>> works_;
  std::vector<std::string> answers_;
  std::unique_ptr<SweepQuestions> questions_;
};

TEST_F(SweepQuestionsTest, AnAnswerComesFromTheBackground) {
  ASSERT_TRUE(Ask(1).ok());
  EXPECT_TRUE(questions_->IsAnswering("s-1", 1));
  EXPECT_FALSE(questions_->IsAnswering("s-1", 2));
  EXPECT_FALSE(questions_->IsAnswering("s-2", 1));
  loop_.Settle();
  EXPECT_TRUE(answers_.empty());
  Work();
  EXPECT_THAT(answers_, ElementsAre("s-1 1 suggested"));
  EXPECT_FALSE(questions_->IsAnswering("s-1", 1));
}

TEST_F(SweepQuestionsTest, OnlyTheLastQuestionIsAnswered) {
  ASSERT_TRUE(Ask(1).ok());
  ASSERT_TRUE(Ask(2).ok());
  Work();
  EXPECT_THAT(answers_, ElementsAre("s-1 2 suggested"));
}

TEST_F(SweepQuestionsTest, EachTrainerCountsItsTryOnce) {
  for (std::int64_t tries = 1; tries <= SweepQuestions::kMostTries; ++tries) {
    EXPECT_FALSE(questions_->HasHadItsTries(sweep_, 7));
    ASSERT_TRUE(Ask(7).ok());
    ASSERT_TRUE(Ask(7).ok());
    EXPECT_EQ(sweep_.tries, tries);
    EXPECT_FALSE(questions_->HasHadItsTries(sweep_, 7)) << "this trainer has not ended";
    Restart();
    EXPECT_EQ(sweep_.asked, 7);
  }
  EXPECT_TRUE(questions_->HasHadItsTries(sweep_, 7));
  EXPECT_FALSE(questions_->HasHadItsTries(sweep_, 8));
  ASSERT_TRUE(Ask(8).ok());
  EXPECT_EQ(sweep_.tries, 1);
}

TEST_F(SweepQuestionsTest, OnceItHasGoneNoAnswerComes) {
  ASSERT_TRUE(Ask(1).ok());
  const auto works = works_;
  loop_.Call([this] { questions_.reset(); });
  for (const auto& work : works) work();
  loop_.Settle();
  EXPECT_TRUE(answers_.empty());
}

}  // namespace
}  // namespace trainer
