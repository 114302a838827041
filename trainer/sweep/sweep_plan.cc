#include "trainer/sweep/sweep_plan.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/text/json_value.h"
#include "runtime/text/string_view.h"
#include "tuning/engine/plan_reader.h"

namespace trainer {
namespace {

using runtime::JsonValue;

constexpr runtime::JsonOptions kLimits = {.depth = 32, .values = 200'000};
constexpr std::size_t kMaxPlan = 4 << 20;

tuning::PlanNode NodeOf(const JsonValue& value) {
  using Kind = tuning::PlanNode::Kind;
  tuning::PlanNode node;
  node.json = runtime::CompactJson(value);
  switch (value.kind) {
    case JsonValue::Kind::kNull:
      break;
    case JsonValue::Kind::kBool:
      node.kind = Kind::kBool;
      break;
    case JsonValue::Kind::kInteger:
    case JsonValue::Kind::kDouble:
      node.kind = Kind::kNumber;
      break;
    case JsonValue::Kind::kString:
      node.kind = Kind::kText;
      break;
    case JsonValue::Kind::kArray:
      node.kind = Kind::kList;
      node.json.clear();
      for (const JsonValue& item : value.items) node.items.push_back(NodeOf(item));
      break;
    case JsonValue::Kind::kObject:
      node.kind = Kind::kMap;
      node.json.clear();
      for (const auto& [name, member] : value.members) {
        node.entries.emplace_back(name, NodeOf(member));
      }
      break;
  }
  return node;
}

absl::StatusOr<JsonValue> ParsePlan(std::string_view json) {
  if (json.size() > kMaxPlan) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan has ", json.size(), " bytes, more than ", kMaxPlan));
  }
  auto value = runtime::ParseJson(json, kLimits);
  if (!value.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan: ", value.status().message()));
  }
  if (value->kind != JsonValue::Kind::kObject) {
    return absl::InvalidArgumentError("the plan is no JSON object");
  }
  return value;
}

}  // namespace

absl::StatusOr<SweepPlan> ReadSweepPlan(std::string_view json) {
  const auto value = ParsePlan(json);
  if (!value.ok()) return value.status();
  tuning::ReadPlanResult read = tuning::ReadPlan(NodeOf(*value));
  std::string problems;
  for (const tuning::Problem& problem : read.problems) {
    absl::StrAppend(&problems, problems.empty() ? "" : "; ", problem.key,
                    problem.key.empty() ? "" : " ", problem.what);
  }
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrCat("the plan: ", problems));
  SweepPlan plan;
  plan.enqueue = std::move(read.enqueue);
  plan.known = std::move(read.known);
  plan.plan = std::make_shared<const tuning::Plan>(std::move(read.plan));
  return plan;
}

std::string MethodOf(std::string_view json) {
  const auto value = ParsePlan(json);
  const JsonValue* const method = value.ok() ? value->Find("method") : nullptr;
  return method == nullptr ? "" : runtime::StringOf(*method);
}

absl::StatusOr<std::string> WithParallel(std::string_view json, std::size_t parallel) {
  const auto value = ParsePlan(json);
  if (!value.ok()) return value.status();
  const std::string compact = runtime::CompactJson(*value);
  if (value->Find("parallel") != nullptr) return compact;
  const std::string_view rest = std::string_view(compact).substr(1);
  return absl::StrCat("{\"parallel\":", parallel, rest == "}" ? "" : ",", runtime::Absl(rest));
}

}  // namespace trainer
