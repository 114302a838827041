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

// A page in Prometheus' text format 0.0.4, UTF-8. There all samples of one metric have to stand
// together; here they may come in any order.
class PrometheusPage {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;
  // The Content-Type of it.
  static constexpr char kType[] = "text/plain; version=0.0.4; charset=utf-8";

  // The samples that follow are of this metric: "counter", "gauge" or "histogram". Type and help of
  // one that is there already stay as they are.
  void Begin(std::string_view name, std::string_view type, std::string_view help);
  // `suffix`: "_bucket", "_sum" or "_count" of a histogram. Any bytes may be in values of labels.
  void Sample(const std::string& value, const Labels& labels, std::string_view suffix = "");
  void Sample(std::uint64_t value, const Labels& labels, std::string_view suffix = "");
  // Adds the sample of a gauge that may be any number.
  void Sample(double value, const Labels& labels);
  // Metrics in the order in which they were begun; one without samples is not there.
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
