#include "bus/process/prometheus_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "runtime/text/string_view.h"
#include "runtime/text/utf8.h"

namespace bus {
namespace {

std::string Escaped(const std::string& value) {
  return absl::StrReplaceAll(runtime::ValidUtf8(value),
                             {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

}  // namespace

void PrometheusPage::Begin(std::string_view name, std::string_view type, std::string_view help) {
  const auto [place, is_new] = places_.try_emplace(std::string(name), metrics_.size());
  current_ = place->second;
  if (!is_new) return;
  const std::string text =
      absl::StrReplaceAll(runtime::ValidUtf8(help), {{"\\", "\\\\"}, {"\n", "\\n"}});
  metrics_.push_back({.name = std::string(name),
                      .head = absl::StrCat("# HELP ", runtime::Absl(name), " ", text, "\n# TYPE ",
                                           runtime::Absl(name), " ", runtime::Absl(type), "\n"),
                      .samples = ""});
}

void PrometheusPage::Sample(const std::string& value, const Labels& labels,
                            std::string_view suffix) {
  Metric& metric = metrics_[current_];
  absl::StrAppend(&metric.samples, metric.name, runtime::Absl(suffix));
  const char* before = "{";
  for (const auto& [label, content] : labels) {
    absl::StrAppend(&metric.samples, before, runtime::Absl(label), "=\"", Escaped(content), "\"");
    before = ",";
  }
  absl::StrAppend(&metric.samples, labels.empty() ? " " : "} ", value, "\n");
}

void PrometheusPage::Sample(std::uint64_t value, const Labels& labels, std::string_view suffix) {
  Sample(absl::StrCat(value), labels, suffix);
}

void PrometheusPage::Sample(double value, const Labels& labels) {
  Sample(absl::StrFormat("%.17g", value), labels);
}

std::string PrometheusPage::Take() {
  std::string text;
  for (const Metric& metric : metrics_) {
    if (!metric.samples.empty()) absl::StrAppend(&text, metric.head, metric.samples);
  }
  metrics_.clear();
  places_.clear();
  return text;
}

}  // namespace bus
