"""What the server does besides running pages."""

import asyncio
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import config

from explorer.engine.engine import Phase
from explorer.ui import resources
from explorer.ui.server import ROUTES, lifespan
from explorer.ui.view import View

ROOT = Path(__file__).parents[2]


def test_every_option_that_is_set_exists_in_this_streamlit() -> None:
    options = config.get_config_options(force_reparse=True)
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    for section in ("server", "runner", "client", "browser"):
        for name, value in settings[section].items():
            assert f"{section}.{name}" in options, f"{section}.{name} is no option of Streamlit any more"
            assert value is not None


def test_the_collection_after_every_rerun_is_off() -> None:
    """With torch loaded it costs 0.2 s of everyone's time per rerun; the option is hidden, so it may vanish unseen."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert settings["runner"]["postScriptGC"] is False
    assert "runner.postScriptGC" in config.get_config_options(force_reparse=True)


def test_the_model_is_on_its_way_before_anyone_has_come(explorer_home: Path) -> None:
    async def start_and_wait() -> Phase:
        async with lifespan(None):
            for _ in range(600):
                phase = resources.engine().state(View().model).phase
                if phase is not Phase.ABSENT:
                    return phase
                time.sleep(0.05)
        return Phase.ABSENT

    with ThreadPoolExecutor(1) as thread:  # a browser of other tests may have a loop running in this one
        assert thread.submit(asyncio.run, start_and_wait()).result() in (Phase.LOADING, Phase.READY)


def test_the_fonts_are_served_and_nothing_beside_them() -> None:
    client = TestClient(Starlette(routes=ROUTES))
    assert client.get("/fonts/inter-latin-wght-normal.woff2").status_code == 200
    for path in ("/fonts/../favicon.png", "/fonts/%2e%2e/favicon.png", "/fonts//etc/passwd", "/fonts/"):
        assert client.get(path).status_code == 404
