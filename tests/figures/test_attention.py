"""The bars of a cell."""

import numpy as np
import pandas as pd

from explorer.figures.attention import cell_bars
from explorer.figures.theme import ATTENTION, EMBEDDING


def test_every_dimension_has_its_product_its_value_and_its_contribution() -> None:
    table = pd.DataFrame(
        {
            "dimension": [0, 1, 2],
            "q": [1.0, 2.0, -1.0],
            "k": [3.0, -1.0, -2.0],
            "product": [3.0, -2.0, 2.0],
            "v": [0.5, -0.5, 1.0],
            "contribution": [0.05, -0.05, 0.1],
        }
    )
    products, values, contributions = cell_bars(table).data
    assert list(products.y) == [3, -2, 2]
    assert list(products.marker.color) == [ATTENTION, EMBEDDING, ATTENTION]
    np.testing.assert_array_equal(products.customdata, table[["q", "k"]])
    assert list(values.y) == [0.5, -0.5, 1]
    assert list(contributions.y) == [0.05, -0.05, 0.1]
