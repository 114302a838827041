"""Optuna as the optimiser of a sweep: external: {command: [python3, -m, yard.optimisers.optuna]}.
options: `sampler`, the name of a class of optuna.samplers (default TPESampler); others are its arguments."""

from __future__ import annotations

from typing import Any, Dict

import optuna
from yard.optimisers import index_of, is_active, serve

State = optuna.trial.TrialState


class Optuna:
    asked: Dict[int, Any]

    def start(self, request: Dict[str, Any]) -> str:
        self.space, self.asked = request["space"], {}
        options = {"seed": request["seed"], **request["options"]}
        sampler = getattr(optuna.samplers, options.pop("sampler", "TPESampler"))(**options)
        self.study = optuna.create_study(sampler=sampler, directions=[o["goal"] for o in request["objectives"]])
        return "optuna %s" % optuna.__version__

    def suggest(self, trial: Any) -> Dict[str, Any]:
        config: Dict[str, Any] = {}
        for name, p in self.space.items():
            if not is_active(p, config):
                continue
            if p["type"] == "categorical":
                config[name] = p["values"][trial.suggest_categorical(name, list(range(len(p["values"]))))]
                continue
            suggest = trial.suggest_int if p["type"] == "int" else trial.suggest_float
            steps = {"step": p["q"]} if "q" in p and not p.get("log") else {}
            config[name] = suggest(name, p["min"], p["max"], log=p.get("log", False), **steps)
        return config

    def ask(self, number: int) -> Dict[str, Any]:
        self.asked[number] = self.study.ask()
        return self.suggest(self.asked[number])

    def tell(self, result: Dict[str, Any]) -> None:
        values = result["values"]
        # It suggests again what has failed; what is pruned without a value is the worst, and it keeps away from that.
        failed = State.FAIL if "error" in result or len(self.study.directions) > 1 else State.PRUNED
        state = {"done": State.COMPLETE, "stopped": State.PRUNED}[result["state"]] if values else failed
        if "id" in result:
            trial = self.asked.pop(result["id"])
            if state == State.PRUNED and len(values) == 1:
                trial.report(values[0], int(result["at"]))
            self.study.tell(trial, values if state == State.COMPLETE else None, state=state)
        elif values:
            known = optuna.trial.FixedTrial({name: index_of(self.space[name], value) for name, value
                                             in result["config"].items() if name in self.space})
            self.suggest(known)
            self.study.add_trial(optuna.create_trial(params=known.params, distributions=known.distributions, values=values))


if __name__ == "__main__":
    serve(Optuna())
