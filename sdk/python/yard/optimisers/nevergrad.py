"""Nevergrad as the optimiser of a sweep: external: {command: [python3, -m, yard.optimisers.nevergrad]}.

options: `optimizer`, a name in nevergrad.optimizers.registry (default NGOpt), and its `budget` and `num_workers`.
"""

from __future__ import annotations

from typing import Any, Dict

import nevergrad as ng
from yard.optimisers import is_active, serve


def steps_of(p: Dict[str, Any]) -> int:
    """How many steps there are from `min` to `max`; 0: it has none."""
    return int((p["max"] - p["min"]) / p["q"] + 1e-9) if "q" in p else 0


def parameter(p: Dict[str, Any]) -> Any:
    if p["type"] == "categorical":
        return ng.p.Choice(range(len(p["values"])))
    if steps_of(p):
        return ng.p.Scalar(lower=0, upper=steps_of(p)).set_integer_casting()
    one = (ng.p.Log if p.get("log") else ng.p.Scalar)(lower=p["min"], upper=p["max"])
    return one.set_integer_casting() if p["type"] == "int" else one


class Nevergrad:
    asked: Dict[int, Any]

    def start(self, request: Dict[str, Any]) -> str:
        self.space, self.asked = request["space"], {}
        self.sign = -1.0 if request["objectives"][0]["goal"] == "maximize" else 1.0
        options = dict(request["options"])
        space = ng.p.Dict(**{name: parameter(p) for name, p in self.space.items()})
        space.random_state.seed(request["seed"] % 2**32)
        make = ng.optimizers.registry[options.pop("optimizer", "NGOpt")]
        self.optimizer = make(parametrization=space, **{"budget": 1000, **options})
        return "nevergrad %s" % ng.__version__

    def ask(self, number: int) -> Dict[str, Any]:
        candidate = self.asked[number] = self.optimizer.ask()
        config: Dict[str, Any] = {}
        for name, value in candidate.value.items():
            p = self.space[name]
            if is_active(p, config):
                config[name] = (p["values"][value] if p["type"] == "categorical" else
                                p["min"] + int(value) * p["q"] if steps_of(p) else value)
        return config

    def tell(self, result: Dict[str, Any]) -> None:
        loss = self.sign * result["values"][0] if result["values"] else float("inf")
        if "id" in result:
            self.optimizer.tell(self.asked.pop(result["id"]), loss)


if __name__ == "__main__":
    serve(Nevergrad())
