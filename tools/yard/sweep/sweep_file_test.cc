#include "tools/yard/sweep/sweep_file.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuning/engine/plan.h"
#include "tuning/space/config.h"

namespace yard {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

SweepFileOptions Options(std::vector<std::string> command = {}, std::vector<std::string> set = {}) {
  return {.set = std::move(set),
          .command = std::move(command),
          .working_directory = "/nowhere",
          .environment = {"PATH=/nowhere", "HOME=/home/me"}};
}

SweepDraft Read(const std::string& text, const SweepFileOptions& options = Options()) {
  auto draft = ParseSweep(text, "s.yaml", "/nowhere", options);
  EXPECT_TRUE(draft.ok()) << draft.status().message() << "\n" << text;
  return draft.ok() ? *std::move(draft) : SweepDraft();
}

std::vector<std::string> Errors(const std::string& text,
                                const SweepFileOptions& options = Options()) {
  const auto draft = ParseSweep(text, "s.yaml", "/nowhere", options);
  EXPECT_EQ(draft.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return absl::StrSplit(std::string(draft.status().message()), '\n');
}

// Files as in W&B's documentation, and the resulting command of their trials.
struct WandbFile {
  std::string text;
  tuning::Method method;
  std::size_t parameters;
  std::vector<std::string> command;
};

TEST(SweepFileTest, WandbFilesAreReadAsTheyAre) {
  const std::vector<std::string> usual = {"/usr/bin/env", "python3", "train.py", "${args}"};
  const std::vector<WandbFile> files = {
      {R"(program: train.py
method: bayes
metric:
  name: validation_loss
  goal: minimize
parameters:
  learning_rate:
    min: 0.0001
    max: 0.1
  optimizer:
    values: ["adam", "sgd"]
)",
       tuning::Method::kBayes, 2, usual},
      {R"(program: train.py
method: random
metric:
  goal: minimize
  name: val_loss
project: sweeps-demo
entity: me
parameters:
  batch_size:
    distribution: q_log_uniform_values
    max: 256
    min: 32
    q: 8
  dropout:
    values: [0.3, 0.4, 0.5]
  epochs:
    value: 1
  fc_layer_size:
    values: [128, 256, 512]
  learning_rate:
    distribution: uniform
    max: 0.1
    min: 0
  optimizer:
    values: ["adam", "sgd"]
)",
       tuning::Method::kRandom, 5, usual},
      {R"(program: train.py
method: grid
parameters:
  lr: {values: [1e-3, 1e-2]}
  depth: {min: 1, max: 3}
)",
       tuning::Method::kGrid, 2, usual},
      {R"(program: train.py
method: bayes
metric: {goal: maximize, name: val_accuracy, target: 0.98}
run_cap: 30
early_terminate:
  type: hyperband
  min_iter: 3
parameters:
  lr: {distribution: log_uniform, min: -9.2, max: -2.3}
)",
       tuning::Method::kBayes, 1, usual},
      {R"(program: train.py
method: random
metric: {name: loss}
early_terminate:
  type: hyperband
  max_iter: 27
  s: 2
  eta: 3
  strict: false
parameters:
  lr: {distribution: inv_log_uniform_values, min: 1e-5, max: 1.0}
)",
       tuning::Method::kRandom, 1, usual},
      {R"(program: train.py
method: random
parameters:
  optimizer:
    parameters:
      learning_rate: {values: [0.01, 0.001]}
      momentum: {value: 0.9}
  model:
    parameters:
      depth: {min: 2, max: 8}
)",
       tuning::Method::kRandom, 2, usual},
      {R"(program: train.py
method: grid
command:
  - ${env}
  - ${interpreter}
  - ${program}
  - ${args_no_hyphens}
parameters:
  param1: {values: [1, 2]}
)",
       tuning::Method::kGrid,
       1,
       {"/usr/bin/env", "python3", "train.py", "${args_no_hyphens}"}},
      {R"(program: main.py
method: grid
command:
  - ${env}
  - python3
  - -u
  - ${program}
  - --config
  - ${args_json_file}
  - --json
  - ${args_json}
parameters:
  a: {values: [true, false]}
)",
       tuning::Method::kGrid,
       1,
       {"/usr/bin/env", "python3", "-u", "main.py", "--config", "${args_json_file}", "--json",
        "${args_json}"}},
      {R"(method: random
command: ["${env}", "${envvar:HOME}/bin/train", "${args_no_boolean_flags}", "${args_no_equals}"]
parameters:
  use_bn: {values: [true, false]}
  init: {distribution: normal, mu: 0.0, sigma: 0.1}
  width: {distribution: q_normal, mu: 100, sigma: 10, q: 5}
)",
       tuning::Method::kRandom,
       3,
       {"/usr/bin/env", "/home/me/bin/train", "${args_no_boolean_flags}", "${args_no_equals}"}},
      {R"({"program": "train.py", "method": "bayes", "name": "hydra", "description": "a search",
 "metric": {"name": "acc", "goal": "maximize", "impute": "worst"},
 "command": ["python3", "${program}", "${args_override_hydra}", "${args_append_hydra}"],
 "parameters": {"model.lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 0.1},
                "model.kind": {"values": ["a", "b"], "probabilities": [0.9, 0.1]}}})",
       tuning::Method::kBayes,
       2,
       {"python3", "train.py", "${args_override_hydra}", "${args_append_hydra}"}},
  };
  for (const WandbFile& file : files) {
    const SweepDraft draft = Read(file.text);
    EXPECT_EQ(draft.plan.method, file.method) << file.text;
    EXPECT_EQ(draft.plan.space->size(), file.parameters) << file.text;
    EXPECT_EQ(draft.command, file.command) << file.text;
    EXPECT_EQ(draft.python_args, file.text.find("program") != std::string::npos) << file.text;
    EXPECT_EQ(draft.source, file.text);
  }
}

TEST(SweepFileTest, ThePlanIsTheWholeFileAsJson) {
  EXPECT_EQ(Read("method: grid\nparameters:\n  b: {values: [1e-4, x]}\nseed: 3\n",
                 Options({"./t", "{b}"}, {"run_cap=4", "parameters.b.values=[2, 1]"}))
                .plan_json,
            R"({"method":"grid","parameters":{"b":{"values":[2,1]}},"seed":3,"run_cap":4})");
}

TEST(SweepFileTest, HowTrialsAreRunIsRead) {
  const SweepDraft draft = Read(R"(
name: digits
method: random
run_cap: 3
parallel: 2
parameters: {lr: {min: 0.0, max: 1.0}}
failures: {retry: 2, max: 10}
budget: {time: 8h, trial_time: 30m}
trial:
  resources: {gpu: 1}
  memory: 8GiB
  max_run_time: 2h
  keep_checkpoints: 1
  output: json
  priority: -3
  labels: [study-7, a=b]
  stop: loss<0.1
  tasks: {worker: 2}
  durable: true
)",
                                Options({"./train", "{lr}"}));
  EXPECT_EQ(draft.name, "digits");
  EXPECT_EQ(draft.max_restarts, 2u);
  EXPECT_EQ(draft.time_budget_ms, std::uint64_t{8} * 3600 * 1000);
  EXPECT_TRUE(draft.has_parallel);
  EXPECT_FALSE(draft.python_args);
  EXPECT_THAT(draft.notices, IsEmpty());
  EXPECT_THAT(
      draft.trial_flags,
      ElementsAre(Pair("resources", ElementsAre("gpu=1")), Pair("memory", ElementsAre("8GiB")),
                  Pair("max_run_time", ElementsAre("2h")),
                  Pair("keep_checkpoints", ElementsAre("1")), Pair("output", ElementsAre("json")),
                  Pair("priority", ElementsAre("-3")), Pair("label", ElementsAre("study-7", "a=b")),
                  Pair("stop", ElementsAre("loss<0.1")), Pair("task", ElementsAre("worker=2")),
                  Pair("durable", ElementsAre("true")), Pair("time_budget", ElementsAre("30m"))));
}

TEST(SweepFileTest, AllThatIsWrongIsNamedWithItsPlace) {
  EXPECT_THAT(
      Errors(R"(metod: random
method: bayse
metric:
  name: loss
  goal: minimise
parameters:
  lr:
    min: 1
    max: 0.5
  momentum: {mim: 0, max: 1}
trial:
  memory: lots
  memmory: 1GiB
  resources: 3
budget: {tme: 1h, epochs: x}
failures: {retry: -1}
command: [python3, "${arg}"]
)"),
      ElementsAre("s.yaml:1:1: metod: there is no key metod; did you mean method?",
                  HasSubstr("s.yaml:2:1: method: bayse is none of bayes"),
                  StartsWith("s.yaml:5:3: metric.goal: minimise is none of minimize"),
                  StartsWith("s.yaml:7:3: parameters.lr: parameter lr"),
                  StartsWith("s.yaml:10:3: parameters.momentum: says neither"),
                  StartsWith("s.yaml:10:14: parameters.momentum.mim: there is no key mim"),
                  StartsWith("s.yaml:12:3: trial.memory: expected a size like 512MiB"),
                  "s.yaml:13:3: trial.memmory: there is no key memmory; did you mean memory?",
                  StartsWith("s.yaml:14:14: trial.resources: expected a map"),
                  "s.yaml:15:10: budget.tme: there is no key tme; did you mean time?",
                  HasSubstr("budget.epochs: \"x\" is no whole number"),
                  StartsWith("s.yaml:16:19: failures.retry: expected a whole number"),
                  "s.yaml:17:1: command: there is no macro ${arg}; did you mean ${args}?"));
}

TEST(SweepFileTest, WhatIsNotServedIsSaid) {
  const std::string rest = "parameters: {x: {values: [1]}}\nmetric: {name: l}\nprogram: t.py\n";
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"method: external", "method: external suggests nothing by itself: name the program"},
      {"method: external\nexternal: {command: x}", "external.command: is a list of words"},
      {"method: external\nexternal: {command: [x], timout: 5}", "did you mean timeout?"},
      {"method: external\nexternal: {command: [x], timeout: 0}",
       "external.timeout: is a number of"},
      {"method: external\nexternal: {command: [x]}\norder: fixed", "order: cannot be fixed"},
      {"method: custom", "custom is none of"},
      {"method: tpe\nconstraints: x", "constraints: is a list"},
      {"method: tpe\nconstraints: [y < 2]", "constraints: there is no parameter y"},
      {"method: tpe\nconstraints: ['x <']", "constraints: expected a number, a name or a ("},
      {"method: tpe\nconstraints: [x > 1]", "constraints: allow nothing: none of 10000"},
      {"method: tpe\nconstraints: [x > 0]\nenqueue: [{x: 2}]", "enqueue: "},
      {"method: tpe\nwarm_start: {runs: [x]}", "warm_start.runs: is a query, like"},
      {"method: tpe\nwarm_start: {results: [{value: 1}]}", "warm_start.results: has a config"},
      {"method: tpe\nexternal: {command: [x]}", "external: suggests nothing: the method is not"},
      {"method: tpe\nmetrics: [{name: a}]", "metric: is there, and metrics too"},
      {"method: tpe\nscheduler: {engine: x}", "scheduler: scheduler is W&B's"},
      {"method: tpe\nresources: {gpu: 1}", "resources: belongs under trial"}};
  for (const auto& [text, error] : refused) {
    const std::vector<std::string> lines = Errors(absl::StrCat(text, "\n", rest));
    EXPECT_THAT(lines, Contains(HasSubstr(error))) << text;
    for (const std::string& line : lines) EXPECT_THAT(line, StartsWith("s.yaml:")) << text;
  }
}

TEST(SweepFileTest, WhatIsWrongWithMetricsAndConstraintsHasItsPlace) {
  const auto errors = [](const std::string& text) {
    return Errors(absl::StrCat("method: tpe\nprogram: t.py\n", text,
                               "\nparameters: {layers: {values: [1, 2]}}\n"));
  };
  EXPECT_THAT(errors("metrics: [{name: a}]"),
              ElementsAre(StartsWith("s.yaml:3:1: metrics: is a list of two, like")));
  EXPECT_THAT(errors("metrics: [{name: a}, {name: b, gaol: minimize}]"),
              ElementsAre("s.yaml:3:32: metrics.gaol: there is no key gaol; did you mean goal?"));
  EXPECT_THAT(errors("metrics:\n  - {name: a, target: 1}\n  - {name: layers}"),
              ElementsAre(StartsWith("s.yaml:4:15: metrics.target: belongs to one metric alone"),
                          StartsWith("s.yaml:6:14: parameters.layers: is the metric, too")));
  EXPECT_THAT(errors("metric: {name: a}\nconstraints:\n  - ms <= 20\n  - layer < 2"),
              ElementsAre(StartsWith("s.yaml:6:5: constraints: there is no parameter layer; did "
                                     "you mean layers?")));
}

TEST(SweepFileTest, ThereIsSomethingToRun) {
  const std::string text = "method: grid\nparameters: {x: {values: [1]}}\n";
  EXPECT_THAT(Errors(text),
              ElementsAre("s.yaml:1:1: command: there is neither program nor command: write "
                          "program: train.py, or put the command behind the file: yard sweep FILE "
                          "-- ./train '${args}'"));
  EXPECT_THAT(Read(text, Options({"./t"})).command, ElementsAre("./t"));
  EXPECT_THAT(Read(text + "command: [./u]\n", Options({"./t"})).command, ElementsAre("./t"));
  EXPECT_THAT(Read(text + "trial: {function: f}\n").command, IsEmpty());
  EXPECT_THAT(Errors(text + "command: []\n"), ElementsAre(HasSubstr("command: has no words")));
  EXPECT_THAT(Errors(text + "command: [\"${program}\"]\n"),
              ElementsAre(HasSubstr("${program} stands for nothing")));
}

TEST(SweepFileTest, WhatMayNotBeMeantIsSaid) {
  const std::string text = "method: random\nparameters: {x: {min: 0.0, max: 1.0}}\n";
  EXPECT_THAT(Read(text + "name: a/b\nproject: p\ndescription: d\n", Options({"./t"})).notices,
              ElementsAre("s.yaml:4:1: project: project means nothing here",
                          "s.yaml:3:1: name: its trials are called \"a-b\": their directories are "
                          "named so",
                          "s.yaml:5:1: description: description means nothing here",
                          StartsWith("the command names no parameter"),
                          "there is no run_cap: the sweep goes on until it is stopped"));
  EXPECT_THAT(Read(text + "run_cap: 1\n", Options({"./t", "{x}"})).notices, IsEmpty());
  // A population ends when its programs end, and keeps only the newest checkpoints.
  const SweepDraft population =
      Read("method: pbt\nmetric: {name: loss}\nparameters: {x: {min: 0.0, max: 1.0}}\n",
           Options({"./t", "{x}"}));
  EXPECT_THAT(population.notices, IsEmpty());
  EXPECT_THAT(population.trial_flags, ElementsAre(std::pair(std::string("keep_checkpoints"),
                                                            std::vector<std::string>{"1"})));
  EXPECT_THAT(
      Read("method: random\nparameters: {x: {values: [1]}}\n", Options({"./t", "{x}"})).notices,
      IsEmpty());
}

TEST(SweepFileTest, WhatIsSetIsNamedAsSet) {
  EXPECT_THAT(Errors("method: grid\nparameters: {x: {values: [1]}}\n",
                     Options({"./t"}, {"run_cap=0", "trial.memory=lots"})),
              ElementsAre("--set: run_cap: 0 is no whole number above 0",
                          StartsWith("--set: trial.memory: expected a size")));
  EXPECT_THAT(Errors("method: grid\n", Options({}, {"x"})),
              ElementsAre(StartsWith("--set: expected")));
}

TEST(SweepFileTest, HostileFilesAreRefusedWithALine) {
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  const std::vector<std::string> texts = {
      "",
      "[]",
      "x",
      "method",
      "a: &x [1]\nb: *x\n",
      "parameters: " + deep,
      "method: grid\nmethod: grid\n",
      std::string("method: grid\0\n", 14),
      "method: \xff\n",
      "parameters: !!python/object {}\n",
      "? [a]\n: 1\n",
      "method: [grid]\nparameters: [x]\nmetric: []\nearly_terminate: 3\nenqueue: 4\nfailures: "
      "x\npopulation: 1\ntrial: [a]\nbudget: 3\ncommand: x\nprogram: {a: 1}\nname: [x]\n"
      "python_args: maybe\n",
      "method: random\nparameters: {x: {min: a, max: []}, y: {values: {a: 1}}, z: {values: [1], "
      "probabilities: 3}, w: {when: 3, values: [1]}, v: {parameters: 3}, u: 7}\n",
      "method: random\nparameters: {x: {min: 1e999, max: 2e999}}\n",
      "method: random\nparameters: {x: {min: 0, max: 99999999999999999999}}\nrun_cap: "
      "99999999999999999999\n",
      std::string(2 << 20, 'a'),
  };
  for (const std::string& text : texts) {
    const std::vector<std::string> lines = Errors(text);
    EXPECT_FALSE(lines.empty());
    EXPECT_THAT(lines.front(), StartsWith("s.yaml:")) << text.substr(0, 200);
    for (const std::string& line : lines) {
      EXPECT_LT(line.size(), 1000u);
      EXPECT_EQ(std::count_if(line.begin(), line.end(),
                              [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
                0)
          << line;
    }
  }
}

TEST(SweepFileTest, AMissingFileIsNamed) {
  const auto draft = ReadSweep("s.yaml", Options());
  EXPECT_EQ(draft.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(draft.status().message()), HasSubstr("/nowhere/s.yaml"));
}

}  // namespace
}  // namespace yard
