"""Vocabularies without a model, for reading a text as another model would."""

import threading
from pathlib import Path

from explorer.checkpoint.llama3_vocabulary import LLAMA3_VOCABULARY
from explorer.checkpoint.wheel_file import fetch
from explorer.config import TokenizerSource
from explorer.engine.engine import LoadState, Phase
from explorer.errors import ExplorerError, ModelNotReady, NoSuchModel

LLAMA3 = "llama3"
SHIPPED = ("cl100k_base", "o200k_base")
VOCABULARIES = (LLAMA3, *SHIPPED)


class Vocabularies:
    """Those that ship with this program are always ready.

    That of Llama 3 is fetched when first asked for, in the background, and kept below ``home``.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._lock = threading.Lock()
        self._states = {LLAMA3: LoadState(phase=Phase.ABSENT)}
        self._states |= {name: LoadState(phase=Phase.READY, fraction=1.0) for name in SHIPPED}
        self._sources = {name: TokenizerSource(format="openai", data={"name": name}) for name in SHIPPED}

    def state(self, name: str) -> LoadState:
        """Where a vocabulary stands. Raises ``NoSuchModel``."""
        _check(name)
        return self._states[name]

    def prepare(self, name: str) -> None:
        """Begin to fetch a vocabulary, unless it is here or on its way."""
        _check(name)
        with self._lock:
            if self._states[name].phase in (Phase.LOADING, Phase.READY):
                return
            self._states[name] = LoadState(phase=Phase.LOADING, sentence="Fetching the Llama 3.1 vocabulary")
        threading.Thread(target=self._fetch, args=(name,), name=f"fetch-{name}", daemon=True).start()

    def source(self, name: str) -> TokenizerSource:
        """The file of a vocabulary that is ready. Raises ``ModelNotReady``, or what kept it from coming."""
        state = self.state(name)
        if state.error is not None:
            raise state.error
        if state.phase is not Phase.READY:
            raise ModelNotReady("The Llama 3.1 vocabulary is not here yet.", state.sentence)
        return self._sources[name]

    def _fetch(self, name: str) -> None:
        def progress(done: int, total: int) -> None:
            self._states[name] = LoadState(
                phase=Phase.LOADING, sentence="Fetching the Llama 3.1 vocabulary", fraction=done / total
            )

        try:
            path = fetch(LLAMA3_VOCABULARY, self._home, progress)
            self._sources[name] = TokenizerSource(format="tiktoken", data={"path": path})
            self._states[name] = LoadState(phase=Phase.READY, fraction=1.0)
        except ExplorerError as error:
            self._states[name] = LoadState(phase=Phase.FAILED, sentence=error.found, error=error)


def _check(name: str) -> None:
    if name not in VOCABULARIES:
        raise NoSuchModel(f"There is no vocabulary {name!r} here.", f"Vocabularies here: {', '.join(VOCABULARIES)}.")
