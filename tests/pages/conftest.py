"""Pages without a browser, on the default model."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.engine.engine import Phase
from explorer.ui import resources
from explorer.ui.view import View

ROOT = Path(__file__).parents[2]

Open = Callable[..., AppTest]


@pytest.fixture(scope="session")
def model_in_memory(explorer_home: Path) -> None:
    """The app's engine with the default model loaded."""
    engine, model = resources.engine(), View().model
    engine.prepare(model)
    while engine.state(model).phase is Phase.LOADING:
        pass
    assert engine.state(model).phase is Phase.READY


@pytest.fixture
def open_app(model_in_memory: None) -> Open:
    """Run a page for a link: ``open_app("pages/sampling.py", temperature="0.5")``."""

    def run(file: str, **params: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        for name, value in params.items():
            app.query_params[name] = value
        if file != "app.py":
            app.switch_page(file)
        return app.run()

    return run
