#ifndef BUS_PROCESS_PROMETHEUS_PAGE_H_
#define BUS_PROCESS_PROMETHEUS_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bus {

// Builds a page in Prometheus' text format 0.0.4, UTF-8. The format requires that all samples of a
// metric be adjacent; this class accepts them in any order.
class PrometheusPage {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;
  // Content-Type of the page.
  static constexpr char kType[] = "text/plain; version=0.0.4; charset=utf-8";

  // Selects the metric of the following samples: a "counter", "gauge" or "histogram". A metric that
  // exists already keeps its type and help.
  void Begin(std::string_view name, std::string_view type, std::string_view help);
  // `suffix`: "_bucket", "_sum" or "_count" of a histogram. Label values may contain any bytes.
  void Sample(const std::string& value, const Labels& labels, std::string_view suffix = "");
  void Sample(std::uint64_t value, const Labels& labels, std::string_view suffix = "");
  // Adds a sample of a gauge, which may be any number.
  void Sample(double value, const Labels& labels);
  // Returns the metrics in the order of their first Begin(), without those that have no samples.
  std::string Take();

 private:
  struct Metric {
    std::string name;
    std::string head;
    std::string samples;
  };
  std::vector<Metric> metrics_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::size_t current_ = 0;
};

}  // namespace bus

#endif  // BUS_PROCESS_PROMETHEUS_PAGE_H_
