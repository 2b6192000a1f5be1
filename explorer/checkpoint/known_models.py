"""The known sizes, and the vocabulary of the default model, so that text can be cut before its weights are here."""

import gzip
import json
from functools import cache
from pathlib import Path

from explorer.config import TokenizerSource
from explorer.config.known_models import SCALINGS, KnownModel, known_models

__all__ = ["ASSETS", "SCALINGS", "KnownModel", "default_vocabulary", "known_models"]

ASSETS = Path(__file__).parent.parent.parent / "assets"


@cache
def default_vocabulary() -> TokenizerSource:
    """The tokenizer of the default model."""
    packed = (ASSETS / "vocabularies" / "smollm2.json.gz").read_bytes()
    return TokenizerSource(format="gguf", data=json.loads(gzip.decompress(packed)))
