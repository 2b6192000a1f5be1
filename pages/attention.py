"""Who reads whom: all heads, one head, one cell."""

import streamlit as st

from explorer.analysis import attention, head_scan, head_table
from explorer.figures.attention import cell_bars
from explorer.figures.theme import ATTENTION, EMBEDDING
from explorer.ui import state
from explorer.ui.attention_component import Axis, attention_map, head_grid
from explorer.ui.chart import chart, numbers
from explorer.ui.components import Fact, fact_list
from explorer.ui.controls import attention_controls, direction_control, head_control, layer_control
from explorer.ui.details import details
from explorer.ui.kept import kept
from explorer.ui.page import Page, open_page
from explorer.ui.score_table import Column, Row, score_table
from explorer.ui.weighted_text import weighted_text
