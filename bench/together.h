#ifndef BENCH_TOGETHER_H_
#define BENCH_TOGETHER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "bench/peer_comparison.h"

namespace bench {

// Figures from one joint measurement, which is repeated when a figure is requested a second time,
// that is, once in each round.
template <typename Figures>
class Together {
 public:
  using Measure = std::function<absl::StatusOr<Figures>()>;
  static std::shared_ptr<Together> Of(Measure measure) {
    return std::shared_ptr<Together>(new Together(std::move(measure)));
  }
  const absl::StatusOr<Figures>& Get(int* seen) {
    if (*seen == times_) {
      figures_ = measure_();
      ++times_;
    }
    *seen = times_;
    return figures_;
  }

 private:
  explicit Together(Measure measure) : measure_(std::move(measure)) {}
  const Measure measure_;
  int times_ = 0;
  absl::StatusOr<Figures> figures_;
};

template <typename Figures>
void Add(PeerComparison& comparison, const std::string& name,
         const std::shared_ptr<Together<Figures>>& together,
         std::function<double(const Figures&)> of) {
  comparison.Add(name,
                 [together, of = std::move(of), seen = 0]() mutable -> absl::StatusOr<double> {
                   const auto& figures = together->Get(&seen);
                   if (!figures.ok()) return figures.status();
                   return of(*figures);
                 });
}

}  // namespace bench

#endif  // BENCH_TOGETHER_H_
