#ifndef TUNING_ENGINE_PLAN_READER_H_
#define TUNING_ENGINE_PLAN_READER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuning/engine/plan.h"

namespace tuning {

// A value of a sweep file, independent of the file's language.
struct PlanNode {
  enum class Kind { kNull, kBool, kNumber, kText, kList, kMap };
  Kind kind = Kind::kNull;
  // JSON text of a scalar; integers and other numbers differ in it.
  std::string json = "null";
  std::vector<PlanNode> items = {};
  std::vector<std::pair<std::string, PlanNode>> entries = {};  // In file order.
  int line = 0;  // Start in the file, from 1; 0: unknown.
  int column = 0;
};

// Returns the node as JSON on one line: keys in order, numbers as written.
std::string NodeJson(const PlanNode& node);

// An error in a sweep file: the key, what is wrong with it, and its place.
struct Problem {
  std::string key = {};  // Such as parameters.lr.min.
  std::string what = {};
  int line = 0;
  int column = 0;
};

// A result from an earlier search.
struct KnownResult {
  Config config = {};
  double value = 0;
  std::vector<std::optional<double>> others = {};  // As in EngineEvent.
};

struct ReadPlanResult {
  Plan plan = {};                      // Valid only without problems.
  std::vector<Problem> problems = {};  // All of them, in file order.
  // Keys that are accepted but have no effect here, such as W&B's `project`.
  std::vector<Problem> notices = {};
  std::vector<Config> enqueue = {};     // Tried first.
  std::vector<KnownResult> known = {};  // Results whose configurations are in the space.
  // Sources of more known results: the trials of these sweeps, and the runs that the query matches.
  std::vector<std::string> warm_sweeps = {};
  std::string warm_runs = {};
};

// Reads a W&B sweep file with extensions: method, metric, metrics, run_cap, early_terminate,
// parameters; seed, parallel, enqueue, failures, duplicates, order, population, external, schedule,
// budget.epochs, warm_start, constraints. Keys that say how trials run (program, command, trial,
// ...) are left to the caller that runs them.
ReadPlanResult ReadPlan(const PlanNode& file);

}  // namespace tuning

#endif  // TUNING_ENGINE_PLAN_READER_H_
