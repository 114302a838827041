#ifndef TUNING_ENGINE_PLAN_READER_H_
#define TUNING_ENGINE_PLAN_READER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuning/engine/plan.h"

namespace tuning {

// A value of a sweep file, whichever language it is written in.
struct PlanNode {
  enum class Kind { kNull, kBool, kNumber, kText, kList, kMap };
  Kind kind = Kind::kNull;
  // The JSON text of what is no list and no map; integers and other numbers differ in it.
  std::string json = "null";
  std::vector<PlanNode> items = {};
  std::vector<std::pair<std::string, PlanNode>> entries = {};  // In their order.
  int line = 0;  // Where it begins in the file, from 1; 0: nowhere.
  int column = 0;
};

// The node as JSON on one line: keys in their order, numbers as they were written.
std::string NodeJson(const PlanNode& node);

struct Problem {
  std::string key = {};  // Such as parameters.lr.min.
  std::string what = {};
  int line = 0;
  int column = 0;
};

// A result that is known from somewhere else.
struct KnownResult {
  Config config = {};
  double value = 0;
  std::vector<std::optional<double>> others = {};  // As in an EngineEvent.
};

struct ReadPlanResult {
  Plan plan = {};                      // Only if there are no problems.
  std::vector<Problem> problems = {};  // All of them, in the order of the file.
  // Keys that are taken and mean nothing here, such as W&B's `project`.
  std::vector<Problem> notices = {};
  std::vector<Config> enqueue = {};     // To be tried first.
  std::vector<KnownResult> known = {};  // Results whose configurations are in the space.
  // More of those: trials of these sweeps, and the runs that the query is true of.
  std::vector<std::string> warm_sweeps = {};
  std::string warm_runs = {};
};

// A W&B sweep file, and what it lacks: method, metric, metrics, run_cap, early_terminate,
// parameters; seed, parallel, enqueue, failures, duplicates, order, population, external,
// schedule, budget.epochs, warm_start, constraints.
// The keys that say how trials are run (program, command, trial, ...) are left to whoever runs
// them.
ReadPlanResult ReadPlan(const PlanNode& file);

}  // namespace tuning

#endif  // TUNING_ENGINE_PLAN_READER_H_
