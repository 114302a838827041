"""scikit-learn: loops of `partial_fit`, and searches.

    for batch in reported(batches, lambda: {"accuracy": model.score(x, y)}):
        model.partial_fit(*batch)

    fit_search(GridSearchCV(model, grid), x, y)
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, TypeVar

import yard
from yard.integrations import numbers_in, shared_reporter

_T = TypeVar("_T")


def reported(batches: Iterable[_T], score: Callable[[], Mapping[str, Any]], every: int = 1,
             reporter: Optional[yard.Reporter] = None) -> Iterator[_T]:
    """The batches, one after the other; after every so many, what `score` returns is reported.

    Ends early when the yard says stop.
    """
    reporter = shared_reporter(reporter)
    for count, batch in enumerate(batches, 1):
        yield batch
        if count % every == 0 and not reporter.report(numbers_in(score()), step=count):
            return


def fit_search(search: Any, *data: Any, batch: int = 1, reporter: Optional[yard.Reporter] = None,
               **fit_words: Any) -> Any:
    """`search.fit(*data)`, of a GridSearchCV or RandomizedSearchCV; each candidate is a report.

    A report has the candidate's number as its step, its parameters as `params/NAME` and `mean_test_score` and the
    like. Candidates are tried `batch` at a time: with `n_jobs`, take a batch as large. When the yard says stop the
    best of those that were tried counts.
    """
    reporter = shared_reporter(reporter)
    run_all = search._run_search  # Subclasses may override it, says scikit-learn.

    def run_search(evaluate: Callable[..., Any]) -> None:
        def evaluate_in_batches(candidates: Iterable[Mapping[str, Any]]) -> Any:
            left, results, count = list(candidates), None, 0
            while left:
                results = evaluate(left[:batch])
                del left[:batch]
                for count in range(count, len(results["params"])):
                    row = {name: values[count] for name, values in results.items()
                           if name.startswith("mean_") and len(values) > count}
                    row["params"] = {name: value if isinstance(value, (int, float, str)) else str(value)
                                     for name, value in results["params"][count].items()}
                    if not reporter.report(row, step=count + 1):
                        left.clear()
                count += 1
            return results
        run_all(evaluate_in_batches)

    search._run_search = run_search
    try:
        return search.fit(*data, **fit_words)
    finally:
        del search._run_search
