"""Everything that can go wrong through no fault of the code, each with its remedy."""


class ExplorerError(Exception):
    """What a user, a file or a machine can cause. ``str(error)`` says what was found; ``remedy`` says what to do."""

    def __init__(self, found: str, remedy: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.remedy = remedy


class BadModelFile(ExplorerError):
    """A model file that must not be believed: truncated, hostile, or not what its name says."""


class UnsupportedModel(ExplorerError):
    """A sound file of a model that this code would compute wrongly."""


class NoSuchModel(ExplorerError):
    """A model id that the catalogue does not hold."""


class ModelNotReady(ExplorerError):
    """The weights are still being fetched or loaded, or were never asked for."""


class DownloadFailed(ExplorerError):
    """The network, the registry, the disk or a wrong hash ended a download."""


class TextTooLong(ExplorerError):
    """More text than the tokenizer, or more tokens than the model, is set to take."""


class NoSuchToken(ExplorerError):
    """A token id or text that the vocabulary does not hold."""


class NoSuchTap(ExplorerError):
    """An address that names no tensor of the model."""


class BadValue(ExplorerError):
    """A number or name that is outside what the command or control accepts."""


class TooLarge(ExplorerError):
    """A request that would keep or need more memory than the machine or the settings allow."""


class NotFinite(ExplorerError):
    """The model produced NaN or infinity; the message names the first place."""


class Busy(ExplorerError):
    """The queue is full; asking again later is the remedy."""


class Cancelled(ExplorerError):
    """Nobody waits for this work any more."""
