"""What the server does besides running pages: it loads the model from its first second on, and serves the fonts."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from explorer.ui.components import ASSETS
from explorer.ui.view import View


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Begin to import torch and load the default model when the server starts, not at the first visitor's click."""
    threading.Thread(target=_prepare, name="prepare", daemon=True).start()
    yield


ROUTES: list[BaseRoute] = [Mount("/fonts", StaticFiles(directory=ASSETS / "fonts"))]


def _prepare() -> None:
    from explorer.ui.resources import engine, listing  # torch comes with it

    engine().prepare(View().model)
    listing()  # opens the files of all models, so that no visitor waits for that
