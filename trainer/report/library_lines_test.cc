#include "trainer/report/library_lines.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/file/file.h"
#include "runtime/text/json_value.h"
#include "trainer/report/output_format.h"

namespace trainer {
namespace {

using Reports = std::vector<std::string>;

// Returns the reports in a library's output; testdata/printed has the output and the library's
// version.
Reports ReportsIn(const std::string& file, const std::string& format) {
  const auto text = runtime::ReadFile("trainer/report/testdata/printed/" + file + ".txt", 1 << 20);
  EXPECT_TRUE(text.ok()) << text.status();
  const auto made = OutputFormat::From(format);
  Reports reports;
  for (const auto line : absl::StrSplit(text.value_or(""), '\n')) {
    if (auto metrics = made->MetricsIn(std::string_view(line.data(), line.size()))) {
      reports.push_back(*metrics);
    }
  }
  return reports;
}
void Expect(const std::string& file, const std::string& format, const Reports& reports) {
  EXPECT_EQ(ReportsIn(file, format), reports) << format;
  EXPECT_EQ(ReportsIn(file, "auto"), reports) << "auto";
}

TEST(LibraryLinesTest, ThoseOfKeras) {
  const Reports reports = {
      R"({"loss":3.3138,"mae":1.4098,"val_loss":2.2478,"val_mae":1.2170})",
      R"({"loss":1.7398,"mae":1.0213,"val_loss":1.2104,"val_mae":0.8941})",
      R"({"loss":0.9219,"mae":0.7437,"val_loss":0.6573,"val_mae":0.6588})",
      R"({"loss":0.6488,"mae":0.6328})",
  };
  Expect("keras_verbose_1", "keras", reports);
  Expect("keras_verbose_2", "keras", reports);
}

TEST(LibraryLinesTest, ThoseOfXgboost) {
  Expect(
      "xgboost", "xgboost",
      {
          R"({"step":0,"train/rmse":1.40452,"train/mae":1.05623,"eval/rmse":1.36989,"eval/mae":1.19909})",
          R"({"step":1,"train/rmse":1.22190,"train/mae":0.91861,"eval/rmse":1.16671,"eval/mae":1.03722})",
          R"({"step":2,"train/rmse":1.12382,"train/mae":0.85631,"eval/rmse":1.13598,"eval/mae":1.01127})",
          R"({"step":3,"train/rmse":1.00462,"train/mae":0.74711,"eval/rmse":1.00288,"eval/mae":0.89975})",
      });
  Expect(
      "xgboost_cv", "xgboost",
      {
          R"({"step":0,"train/rmse":1.36050,"train/rmse-std":0.03104,"test/rmse":1.56130,"test/rmse-std":0.13891})",
          R"({"step":1,"train/rmse":1.18561,"train/rmse-std":0.02728,"test/rmse":1.52150,"test/rmse-std":0.15344})",
          R"({"step":2,"train/rmse":1.03817,"train/rmse-std":0.03644,"test/rmse":1.44469,"test/rmse-std":0.18041})",
      });
}

TEST(LibraryLinesTest, ThoseOfLightgbm) {
  const std::string last =
      R"({"step":4,"training/l2":2.21508,"training/l1":1.12703,"valid_1/l2":4.50376,"valid_1/l1":1.76537})";
  Expect(
      "lightgbm", "lightgbm",
      {
          R"({"step":1,"training/l2":2.90034,"training/l1":1.31668,"valid_1/l2":5.29639,"valid_1/l1":1.87087})",
          R"({"step":2,"training/l2":2.6206,"training/l1":1.24066,"valid_1/l2":5.00289,"valid_1/l1":1.83913})",
          R"({"step":3,"training/l2":2.40589,"training/l1":1.18093,"valid_1/l2":4.72234,"valid_1/l1":1.79396})",
          last,
          last,  // The best iteration, repeated.
          R"({"step":1,"valid/l2":3.58347,"valid/l2-std":0.566337})",
          R"({"step":2,"valid/l2":3.32596,"valid/l2-std":0.554654})",
          R"({"step":3,"valid/l2":3.10761,"valid/l2-std":0.516851})",
      });
}

TEST(LibraryLinesTest, DictionariesOfTransformers) {
  const Reports reports = ReportsIn("transformers", "dict");
  ASSERT_EQ(reports.size(), 7u);
  EXPECT_EQ(
      reports[0],
      R"({"loss":0.6936,"grad_norm":0.1982230246067047,"learning_rate":3.7500000000000003e-05,"epoch":0.25})");
  EXPECT_EQ(ReportsIn("transformers", "auto"), reports);
  EXPECT_EQ(ReportsIn("transformers", "json"), Reports());
}

TEST(LibraryLinesTest, ADictionaryIsWhatPythonPrints) {
  const auto of = [](std::string_view line) { return DictionaryMetrics(line).value_or(""); };
  EXPECT_EQ(of("{'loss': '0.69', 'a': nan, 'b': -inf, 'c': True, 'd': None}"),
            R"({"loss":0.69,"a":NaN,"b":-Infinity,"c":true,"d":null})");
  EXPECT_EQ(of("{'loss': np.float64(0.5), 'acc': tensor(0.25, device='cpu'), 't': (1, 2,)}"),
            R"({"loss":0.5,"acc":0.25,"t":[1,2]})");
  EXPECT_EQ(of(R"({"it's": 1, 'a"b': "c'd", 'n': {'1': 2}, 'e': 'a\\b\'c'})"),
            R"({"it's":1,"a\"b":"c'd","n":{"1":2},"e":"a\\b'c"})");
  EXPECT_EQ(of("  {'loss': 1}  "), R"({"loss":1})");
  for (const char* no : {"{}", "", "{'a'}", "{'a': 1", "{'a': 1} b", "b {'a': 1}", "{1, 2}",
                         "{'a': <object>}", "{'a': f(x)}", "{'a': }", "{'a' 1}", "{'a: 1}",
                         "{'a': 1, }}", "{'a': [1}", "{'a': 1 2}", "{'a\\"}) {
    EXPECT_EQ(of(no), "") << no;
  }
}

TEST(LibraryLinesTest, WhatIsLikeALineOfALibraryIsNone) {
  for (const char* no :
       {"Epoch 1/3", "14/15 - 1s - 93ms/step - loss: 3.3", "15/15", "15/15 - 1s - 93ms/step",
        "loss: 3.3", "15/15 - 1s - : 3", "15/15 - 1s - a b: 3", "15/15loss - a: 1", "/ - a: 1"}) {
    EXPECT_EQ(KerasMetrics(no), std::nullopt) << no;
  }
  for (const char* no : {"[12:00:01] WARNING: a-b:1", "[0]", "[0]\t", "[0]\ttrain-rmse:x",
                         "[0]\t-rmse:1", "[0]\trmse:1", "[]\ta-b:1", "[1]\ta's l2: 1"}) {
    EXPECT_EQ(XgboostMetrics(no), std::nullopt) << no;
  }
  for (const char* no : {"[LightGBM] [Info] Total Bins 206", "[1]\t's l2: 1", "[1]\ta's l2: x",
                         "[1]\ta-b:1", "[1]\ta's l2"}) {
    EXPECT_EQ(LightgbmMetrics(no), std::nullopt) << no;
  }
  for (const char* no : {"1/4 [loss=1]", "100%|##| 4/4 [00:00<00:00, 9it/s]", "a [b/s]",
                         "x [00:00, 1/s, loss=1]", "4/4 [00:00<00:00, 9it/s, loss=1]"}) {
    EXPECT_FALSE(TqdmState(no).has_value()) << no;
  }
}

TEST(LibraryLinesTest, ABarOfTqdmSaysHowFarItIs) {
  const auto whole =
      TqdmState("epoch 1: 100%|####| 4/4 [00:00<00:00, 9it/s, acc=0.750, loss=0.25]");
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->place, "4/4");
  EXPECT_TRUE(whole->is_edge);
  EXPECT_EQ(whole->metrics, R"({"acc":0.750,"loss":0.25})");
  const auto part = TqdmState("loss=0.5:  25%|#   | 1/4 [00:00<00:01,  1.20s/it] ");
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->place, "1/4");
  EXPECT_FALSE(part->is_edge);
  EXPECT_EQ(part->metrics, R"({"loss":0.5})");
  EXPECT_EQ(TqdmState("7it [00:00, 9.1it/s, loss=1]")->place, "7it");
}

TEST(LibraryLinesTest, HostileLinesStayWithinBounds) {
  constexpr std::size_t kSize = 128 << 10;
  std::string fields = "[1]", kerases = "1/1 - 0s", dictionary = "{";
  for (int i = 0; i < 5000; ++i) {
    absl::StrAppend(&fields, "\ta", i, "-b:", i);
    absl::StrAppend(&kerases, " - a", i, ": ", i);
    absl::StrAppend(&dictionary, "'a", i, "': ", i, ", ");
  }
  EXPECT_EQ(runtime::ParseJson(*XgboostMetrics(fields))->members.size(), 1000u);
  EXPECT_EQ(runtime::ParseJson(*KerasMetrics(kerases))->members.size(), 1000u);
  EXPECT_EQ(DictionaryMetrics(dictionary + "}"), std::nullopt);
  const auto format = OutputFormat::From("auto");
  for (const std::string& piece :
       {std::string("{"), std::string("["), std::string("("), std::string("'"), std::string("\\"),
        std::string("="), std::string(" - a: "), std::string("\ta-b:"), std::string("a("),
        std::string("\x1b["), std::string("\b"), std::string("1/"), std::string("%| 1/2 [0:/"),
        std::string("\0\xff", 2)}) {
    for (const char* begin : {"", "{", "{'a': ", "1/1 - ", "[1]\t", "10%| "}) {
      std::string line = begin;
      while (line.size() < kSize) line += piece;
      line.resize(kSize - 1);
      (void)format->MetricsIn(line);
      (void)format->MetricsIn(line + "}");
      (void)format->BarIn(line + "]");
    }
  }
}

}  // namespace
}  // namespace trainer
