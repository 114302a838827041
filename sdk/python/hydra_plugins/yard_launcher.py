"""Where Hydra looks for plugins; what it finds is `yard.integrations.hydra`. No __init__.py: others are here, too."""

from dataclasses import dataclass, field
from typing import List

from hydra.core.config_store import ConfigStore

from yard.integrations import hydra as yard_hydra


class YardLauncher(yard_hydra.YardLauncherBase):
    pass


@dataclass
class _Config:
    _target_: str = "hydra_plugins.yard_launcher.YardLauncher"
    metric: str = ""
    words: List[str] = field(default_factory=list)
    program: str = "yard"


ConfigStore.instance().store(group="hydra/launcher", name="yard", node=_Config, provider="yard")
