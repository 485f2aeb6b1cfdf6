"""The loading explorer: which call, on which repository, with which cache → the requests made and the message."""

from ..figures import hub_requests
from ..loading import CALLS, STATES, TIMES
from .explorer import Explorer, choice, dropdown


class LoadingExplorer(Explorer):
    """Outcomes of loading.try_all() behind three controls: call, state, time. The picture: figures.hub_requests."""

    def __init__(self, outcomes):
        super().__init__()
        self.outcomes = outcomes
        self.call = dropdown("call", [(call.format(id="…"), call) for call in CALLS], CALLS[1])
        self.state = dropdown("repository", list(STATES), next(iter(STATES)))
        self.time = choice("run", TIMES, TIMES[0])
        self.arrange([[self.call, self.state], [self.time]], [self.call, self.state, self.time])

    def draw(self):
        outcome = self.outcomes[self.call.value, self.state.value, self.time.value]
        title = f"{outcome.call}, {self.time.value}; {self.state.value}"
        return [hub_requests(outcome.requests, outcome.said, title, outcome.is_ok)]


def loading_explorer(outcomes):
    """Return a LoadingExplorer of what loading.try_all() returned."""
    return LoadingExplorer(outcomes)
